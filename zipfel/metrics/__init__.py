"""How good a ranking is: `evaluate`, as a whole and per label-frequency bucket; `Propensity` for the rare labels."""

from zipfel.metrics.calibration import Reliability, calibration_errors, reliability
from zipfel.metrics.evaluate import evaluate
from zipfel.metrics.label_report import LabelReport
from zipfel.metrics.propensity import Propensity
from zipfel.metrics.scorers import scorer

__all__ = ["LabelReport", "Propensity", "Reliability", "calibration_errors", "evaluate", "reliability", "scorer"]
