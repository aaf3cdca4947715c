"""A paper's table as bars, or its figure as curves, with the paper's numbers beside ours; matplotlib, as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from benchmarks.papers.rows import COSTS, Row, Table, Variant, of_variant, values

mpl.rcParams.update({"svg.hashsalt": "zipfel", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False})


def draw(table: Table, rows: Sequence[Row], file: Path) -> Path:
    """Writes the picture: a panel a data set; error bars are standard deviations over seeds."""
    data = list(dict.fromkeys(row["data"] for row in rows))
    figure = Figure(figsize=(max(4.0, 3.4 * len(data)), 3.2), layout="constrained")
    panels = np.atleast_1d(figure.subplots(1, len(data)))
    for axes, name in zip(panels, data, strict=True):
        (_curves if table.x else _bars)(axes, table, rows, name)
        axes.set_title(name)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, metadata={"Date": None})
    return file


def _curves(axes: Any, table: Table, rows: Sequence[Row], data: str) -> None:
    """A curve for each series and column over the variants' x; the paper's own where it has the data."""
    for series in dict.fromkeys(variant.series for variant in table.variants):
        mine = [v for v in table.variants if v.series == series and v.x is not None and of_variant(rows, data, v)]
        for column in table.columns:
            found = [values(of_variant(rows, data, variant), column) for variant in mine]
            label = ", ".join(word for word in (series, COSTS.get(column, column)) if word)
            x, y, spread = [v.x for v in mine], [np.mean(f) for f in found], [np.std(f) for f in found]
            axes.errorbar(x, y, spread, fmt="o-", capsize=2, markersize=4, label=label)
    axes.set_xlabel(table.x)
    axes.grid(alpha=0.3)


def _bars(axes: Any, table: Table, rows: Sequence[Row], data: str) -> None:
    """Groups of bars, one a column of the same kind as the first; the paper's numbers as black marks."""
    columns = [c for c in table.columns if ("@" in c) == ("@" in table.columns[0])]
    mine = [variant for variant in table.variants if of_variant(rows, data, variant)]
    width, places = 0.8 / max(1, len(mine)), np.arange(len(columns))
    for i, variant in enumerate(mine):
        found = [values(of_variant(rows, data, variant), column) for column in columns]
        at = places + (i + 0.5) * width - 0.4
        axes.bar(at, [np.mean(f) for f in found], width, yerr=[np.std(f) for f in found], label=variant.name)
        _marks(axes, table, data, variant, columns, at)
    axes.set_xticks(places, [COSTS.get(column, column) for column in columns], fontsize=7)
    low = axes.get_ylim()[1] * 0.3 if "@" in columns[0] else 0
    axes.set_ylim(bottom=min([low, *(0.9 * bar.get_height() for bar in axes.patches)]))


def _marks(axes: Any, table: Table, data: str, variant: Variant, columns: Sequence[str], at: Any) -> None:
    """The paper's numbers of a variant that it has under the same name."""
    for line in table.published:
        if (line.data, line.name) == (data, variant.name):
            shown = [i for i, column in enumerate(columns) if column in line.values]
            label = "the paper's" if variant is table.variants[0] else None
            axes.plot(at[shown], [line.values[columns[i]] for i in shown], "k_", markersize=12, label=label)
