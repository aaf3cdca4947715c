"""A picture of a search: the best value so far, and each setting against the metric."""

from __future__ import annotations

import math
from pathlib import Path

from zipfel.errors import MissingExtraError
from zipfel.tuning.search import Tuned

_COLUMNS = 3


def draw(found: Tuned, path: Path) -> None:
    """Writes an SVG or PNG file, by its suffix."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "tune", "the plot") from None
    names = sorted({name for _, _, settings in found.trials for name in settings})
    rows = math.ceil((len(names) + 1) / _COLUMNS)
    figure = Figure(figsize=(4 * _COLUMNS, 3 * rows), layout="constrained")
    axes = [figure.add_subplot(rows, _COLUMNS, place + 1) for place in range(len(names) + 1)]
    _history(axes[0], found)
    for axis, name in zip(axes[1:], names, strict=True):
        points = [(settings[name], 100 * value) for _, value, settings in found.trials if name in settings]
        numbers = all(isinstance(x, int | float) and not isinstance(x, bool) for x, _ in points)
        axis.scatter([x if numbers else str(x) for x, _ in points], [y for _, y in points], s=12)
        if numbers and min(x for x, _ in points) > 0 and max(x for x, _ in points) > 10 * min(x for x, _ in points):
            axis.set_xscale("log")
        axis.set_xlabel(name)
    for axis in axes:
        axis.axhline(100 * found.default, color="grey", linewidth=0.8, linestyle="--")
        axis.set_ylabel(f"{found.metric} (%)")
    figure.savefig(path)


def _history(axis: object, found: Tuned) -> None:
    values = [100 * value for _, value, _ in found.trials]
    so_far = [max(values[: i + 1]) for i in range(len(values))]
    axis.plot(range(1, len(values) + 1), values, "o", markersize=3)  # type: ignore[attr-defined]
    axis.step(range(1, len(values) + 1), so_far, where="post")  # type: ignore[attr-defined]
    axis.set_xlabel("trial (dashed: the settings given)")  # type: ignore[attr-defined]
