"""A self-contained HTML page about a model, and its figures for notebooks."""

from __future__ import annotations

from zipfel.report.notebook import Figure, frequency_figure, recall_figure, reliability_figure, training_figures
from zipfel.report.page import model_report

__all__ = ["Figure", "frequency_figure", "model_report", "recall_figure", "reliability_figure", "training_figures"]
