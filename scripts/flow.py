"""Boxes in columns, joined from left to right: the pictures of how a document goes through the program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

_COLOURS = {"given": "#e8eef7", "learnt": "#fbe9d0", "loss": "#f6d5d5", "answer": "#dcefdc"}
_WIDTH, _HEIGHT, _STEP, _ROW = 1.62, 0.6, 2.05, 0.86


@dataclass(frozen=True)
class Flow:
    """columns: boxes (kind, text) from top to bottom; titles: what stands above each column."""

    columns: Sequence[Sequence[tuple[str, str]]]
    titles: Sequence[str]


def draw_flow(flow: Flow, path: Path) -> None:
    """Writes the picture; every box of a column is joined with every box of the next."""
    highest = max(map(len, flow.columns))
    width, height = _STEP * len(flow.columns), _ROW * highest + 0.7
    figure = Figure(figsize=(width * 0.86, height * 0.86), layout="constrained")
    axes = figure.add_subplot()
    before: list[float] = []
    for i, boxes in enumerate(flow.columns):
        rows = [_ROW * ((len(boxes) - 1) / 2 - j) for j in range(len(boxes))]
        for (kind, text), y in zip(boxes, rows, strict=True):
            corner = (_STEP * i - _WIDTH / 2, y - _HEIGHT / 2)
            axes.add_patch(FancyBboxPatch(corner, _WIDTH, _HEIGHT, "round,pad=0.04", fc=_COLOURS[kind], ec="#555"))
            axes.text(_STEP * i, y, text, ha="center", va="center", fontsize=8.5, color="#111")
            for start in before:
                ends = (_STEP * i - _WIDTH / 2 - 0.05, y), (_STEP * (i - 1) + _WIDTH / 2 + 0.05, start)
                axes.annotate("", *ends, arrowprops={"arrowstyle": "->", "color": "#777", "linewidth": 0.8})
        axes.text(_STEP * i, _ROW * highest / 2 + 0.12, flow.titles[i], ha="center", va="bottom", fontsize=8)
        before = rows
    axes.set(xlim=(-1, width - 1.05), ylim=(-_ROW * highest / 2, _ROW * highest / 2 + 0.55))
    axes.axis("off")
    figure.savefig(path, metadata={"Date": None})
