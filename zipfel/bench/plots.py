"""Pictures of a benchmark, one a data set: accuracy against training time, against model size, head against tail."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from zipfel.bench.table import Column, Record, Summary, summarise
from zipfel.errors import MissingExtraError

ACCURACY = Column("P@1", "P@1 (%)")
TRAINING = Column("train_seconds", "training (s)", more_is_better=False)
SIZE = Column("model_mb", "model (MB)", more_is_better=False)
HEAD, TORSO, TAIL = (Column(f"R@5[{name}]", f"R@5 of {name} labels (%)") for name in ("head", "torso", "tail"))
OURS, PEERS = "*oXdph", "sv^<>8"
"""Markers, in turn; a system has the same colour and marker in every panel."""


def draw(records: Sequence[Record], out: Path) -> list[Path]:
    """Writes out/<data>.svg for each data set with results."""
    figures = _figures()
    files = []
    for data, found in summarise(records).items():
        figure = figures.Figure(figsize=(15, 4.4), layout="constrained")
        figure.suptitle(data)
        panels = ((TRAINING, ACCURACY), (SIZE, ACCURACY), (HEAD, _rarest(found)))
        for axes, (x, y) in zip(figure.subplots(1, len(panels)), panels, strict=True):
            _panel(axes, found, x, y)
        figure.legend(*axes.get_legend_handles_labels(), loc="outside right upper")
        files.append(out / f"{data}.svg")
        figure.savefig(files[-1])
    return files


def _rarest(found: Sequence[Summary]) -> Column:
    """Tail labels, or torso labels where the data has no tail."""
    return TAIL if any(summary.mean(TAIL) > 0 for summary in found) else TORSO


def _figures() -> Any:
    try:
        return importlib.import_module("matplotlib.figure")
    except ImportError:
        raise MissingExtraError("matplotlib", "bench", "drawing pictures") from None


def _panel(axes: Any, found: Sequence[Summary], x: Column, y: Column) -> None:
    """A point a system, with its spread over seeds; costs on a logarithmic axis."""
    markers = {True: itertools.cycle(OURS), False: itertools.cycle(PEERS)}
    for i, summary in enumerate(found):
        at, spread = (summary.mean(x), summary.mean(y)), {"xerr": summary.spread(x), "yerr": summary.spread(y)}
        style = {"color": f"C{i}", "fmt": next(markers[summary.ours]), "markersize": 11 if summary.ours else 7}
        axes.errorbar(*at, **spread, **style, capsize=2, label=summary.system)
    if not x.more_is_better:
        axes.set_xscale("log")
    axes.set_xlabel(x.title)
    axes.set_ylabel(y.title)
    axes.margins(0.1)
    axes.grid(alpha=0.3)
