"""Pictures of a benchmark, one a data set: accuracy against training time, against model size, head against tail."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from zipfel.bench.table import Column, Record, Summary, summarise
from zipfel.errors import MissingExtraError

ACCURACY = Column("P@1", "P@1 (%)")
TRAINING = Column("train_seconds", "training (s)", more_is_better=False)
SIZE = Column("model_mb", "model (MB)", more_is_better=False)
HEAD, TAIL = Column("R@5[head]", "R@5 of head labels (%)"), Column("R@5[tail]", "R@5 of tail labels (%)")

PANELS = ((TRAINING, ACCURACY), (SIZE, ACCURACY), (HEAD, TAIL))
OURS, PEERS = "#c1440e", "#4a6fa5"


def draw(records: Sequence[Record], out: Path) -> list[Path]:
    """Writes out/<data>.svg for each data set with results."""
    figures = _figures()
    files = []
    for data, found in summarise(records).items():
        figure = figures.Figure(figsize=(15, 4.6), layout="constrained")
        figure.suptitle(data)
        for axes, (x, y) in zip(figure.subplots(1, len(PANELS)), PANELS, strict=True):
            _panel(axes, found, x, y)
        files.append(out / f"{data}.svg")
        figure.savefig(files[-1])
    return files


def _figures() -> Any:
    try:
        return importlib.import_module("matplotlib.figure")
    except ImportError:
        raise MissingExtraError("matplotlib", "bench", "drawing pictures") from None


def _panel(axes: Any, found: Sequence[Summary], x: Column, y: Column) -> None:
    """A point a system, with its spread over seeds; costs on a logarithmic axis."""
    for summary in found:
        at = summary.mean(x), summary.mean(y)
        colour = OURS if summary.ours else PEERS
        error = {"xerr": summary.spread(x), "yerr": summary.spread(y)}
        axes.errorbar(*at, **error, color=colour, marker="o" if summary.ours else "s", capsize=2)
        axes.annotate(summary.system, at, xytext=(5, 4), textcoords="offset points", fontsize=8, color=colour)
    if not x.more_is_better:
        axes.set_xscale("log")
    axes.set_xlabel(x.title)
    axes.set_ylabel(y.title)
    axes.margins(0.2)
    axes.grid(alpha=0.3)
