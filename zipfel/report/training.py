"""How a model was trained: loss and validation metric by epoch, seconds by phase, gains of auto's parts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from zipfel.errors import ModelFileError
from zipfel.report.figures import Rows, line_chart, row_chart
from zipfel.system.phases import in_words

_PHASES = 12
"""Phases that are shown; the others are added up in one row."""

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Curve:
    """One training by epochs. loss: (epoch, training loss); metric: name of the validation metric, with its values."""

    name: str
    loss: Points
    metric: str
    validation: Points


@dataclass(frozen=True)
class Training:
    """curves: one a network; seconds: by phase; plan: a row for each part of auto."""

    curves: Sequence[Curve]
    seconds: Mapping[str, float]
    plan: Sequence[Mapping[str, Any]]


def training_of(training: Mapping[str, Any], plan: Sequence[Mapping[str, Any]]) -> Training:
    """What a model's `training_` says. Models of files may hold anything, so it is checked here.

    >>> facts = {"timings": {"reading": 0.5}, "curves": {"mnn": [{"epoch": 1, "loss": 0.7, "P@1": 0.4}]}}
    >>> training_of(facts, []).curves[0].validation
    [(1.0, 0.4)]
    """
    try:
        curves = [_curve(str(name), epochs) for name, epochs in training.get("curves", {}).items() if epochs]
        seconds = {name: float(value) for name, value in training["timings"].items()}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ModelFileError("the model's training curves or timings are damaged; fit the model again") from error
    return Training(curves, _by_phase(seconds), list(plan))


def _curve(name: str, epochs: Sequence[Mapping[str, float]]) -> Curve:
    metric = next((key for key in epochs[-1] if key not in ("epoch", "loss")), "")
    return Curve(name, _points(epochs, "loss"), metric, _points(epochs, metric) if metric else [])


def _points(epochs: Sequence[Mapping[str, float]], name: str) -> list[tuple[float, float]]:
    found = [(float(one["epoch"]), float(one[name])) for one in epochs if name in one]
    return [point for point in found if all(map(math.isfinite, point))]


def _by_phase(seconds: Mapping[str, float]) -> dict[str, float]:
    """In words, the longest first."""
    added: dict[str, float] = {}
    for name, value in seconds.items():
        added[in_words(name)] = added.get(in_words(name), 0.0) + value
    order = sorted(added, key=lambda name: -added[name])
    found = {name: added[name] for name in order[:_PHASES]}
    return found | ({"other phases": sum(added[name] for name in order[_PHASES:])} if order[_PHASES:] else {})


def curve_charts(curve: Curve) -> list[tuple[str, str]]:
    """(title, figure) of the loss by epoch, and of the validation metric by epoch where there is one."""
    charts = [_chart(f"{curve.name}: training loss", curve.loss)]
    if curve.validation:
        values = [(epoch, 100 * value) for epoch, value in curve.validation]
        charts.append(_chart(f"{curve.name}: {curve.metric} on held-out documents, %", values))
    return [(title, chart) for title, chart in charts if chart]


def _chart(title: str, points: Points) -> tuple[str, str]:
    return title, line_chart(points, title, "epoch")


def seconds_chart(training: Training) -> str:
    """Seconds of each phase of the training."""
    return row_chart(Rows(list(training.seconds), list(training.seconds.values())), "Seconds by phase", " s")


def gains_chart(training: Training) -> str:
    """What each part of auto that was tried gains on held-out documents, in points of precision."""
    tried = [row for row in training.plan if row.get("gain") is not None]
    values = [100 * float(row["gain"]) for row in tried]
    errors = [100 * float(row.get("error") or 0.0) for row in tried]
    names = [str(row["part"]) + ("" if row.get("kept") else " (dropped)") for row in tried]
    return row_chart(Rows(names, values, errors), "Gain of each part on held-out documents, points")
