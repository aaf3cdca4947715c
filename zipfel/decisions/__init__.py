"""From probabilities to sets of labels: thresholds learnt on held-out documents, and sets that are best by a metric."""

from zipfel.decisions.objectives import OBJECTIVES, Objective
from zipfel.decisions.thresholds import THRESHOLDS, Threshold, Thresholds, parse_threshold

__all__ = ["OBJECTIVES", "THRESHOLDS", "Objective", "Threshold", "Thresholds", "parse_threshold"]
