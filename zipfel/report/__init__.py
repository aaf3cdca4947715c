"""A self-contained HTML page about a model: metrics, calibration, labels, errors, parts, data."""

from __future__ import annotations

from zipfel.report.page import model_report

__all__ = ["model_report"]
