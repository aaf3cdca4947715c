"""Tables of a paper: what is to be run for them, the measured rows, and both as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean, stdev
from typing import Any

Row = dict[str, Any]
QUALITY = ("P@1", "P@3", "P@5", "nDCG@3", "nDCG@5")
COSTS = {
    "train_seconds": "train s",
    "train_peak_mb": "train peak MB",
    "model_mb": "model MB",
    "batch_ms": "ms a document",
    "single_ms": "ms, one asked alone",
}


@dataclass(frozen=True)
class Variant:
    """One line of a table. method: a word as for `zipfel bench`, e.g. `lightdxml:paper[beta=1]`.

    x: its place on the horizontal axis, where the table is a curve of the paper. series: which curve it belongs to.
    after: names of the fitted method that are set before it predicts, e.g. {"beta_": 0.5}. Variants of one method with
    `after` share one fit.
    """

    name: str
    method: str
    x: float | None = None
    series: str = ""
    after: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Published:
    """A line that the paper printed: of which data set, under which name, and its numbers by column."""

    data: str
    name: str
    values: Mapping[str, float]


@dataclass(frozen=True)
class Table:
    """A table or figure. columns: metrics (P@1, PSP@3, nDCG@5), costs (see COSTS), facts that the method keeps, or
    phases of `zipfel info`, whose seconds are added where the phase begins with the column's name. data: names of
    folders under --shared, or of bundled data. x: the title of the horizontal axis of a figure."""

    name: str
    title: str
    variants: Sequence[Variant]
    data: Sequence[str]
    columns: Sequence[str] = QUALITY
    published: Sequence[Published] = field(default=())
    x: str = ""
    seeds: int | None = None


def value(row: Row, column: str) -> float:
    """Quality in per cent, costs as they are, seconds of phases."""
    if column in row["metrics"]:
        return 100 * float(row["metrics"][column])
    if column in COSTS:
        return float(row[column])
    if column in row.get("facts", {}):
        return float(row["facts"][column])
    return float(sum(seconds for phase, seconds in row.get("phases", {}).items() if phase.startswith(column)))


def values(rows: Sequence[Row], column: str) -> list[float]:
    return [value(row, column) for row in rows]


def of_variant(rows: Sequence[Row], data: str, variant: Variant) -> list[Row]:
    return [row for row in rows if row["data"] == data and row["variant"] == variant.name]


def markdown(table: Table, rows: Sequence[Row]) -> str:
    """The measured table of each data set with the paper's lines, then the paper's lines of data that we lack."""
    measured = list(dict.fromkeys(row["data"] for row in rows))
    lines = [f"### {table.title}", ""]
    for data in measured:
        mine = [row for row in rows if row["data"] == data]
        lines += [f"{data} ({_conditions(mine)})", "", *_head(table, "here")]
        for variant in table.variants:
            found = of_variant(rows, data, variant)
            if found:
                lines.append(_line(variant.name, [_cell(values(found, c), c) for c in table.columns]))
        lines += [_published(table, line) for line in table.published if line.data == data] + [""]
    others = [line for line in table.published if line.data not in measured]
    if others:
        lines += ["As the paper printed it, on data that are not in this table", "", *_head(table, "paper")]
        lines += [_published(table, line, other=True) for line in others] + [""]
    return "\n".join([*lines, *_missing(table, rows)])


def _missing(table: Table, rows: Sequence[Row]) -> list[str]:
    """A sentence on what the table asks for and has no row of."""
    missing = {
        data: [variant.name for variant in table.variants if not of_variant(rows, data, variant)] for data in table.data
    }
    whole = [data for data, names in missing.items() if len(names) == len(table.variants)]
    found = [", ".join(whole)] if whole else []
    found += [f"{data} by {' / '.join(names)}" for data, names in missing.items() if names and data not in whole]
    return [f"Not run for this table yet: {'; '.join(found)}.", ""] if found else []


def _conditions(rows: Sequence[Row]) -> str:
    counts = Counter(row["variant"] for row in rows)
    few, seeds = min(counts.values()), max(counts.values())
    points = {row["points"] for row in rows}
    sizes = "all points of train" if points == {0} else f"{max(points):,} points of train"
    shown = f"{seeds} seed{'s' if seeds > 1 else ''}{' (one where there is no ±)' if few == 1 < seeds else ''}"
    threads = f"{rows[0]['threads']} thread{'s' if rows[0]['threads'] > 1 else ''}"
    return f"{sizes}, {shown}, {threads}, {rows[0]['machine']}"


def _head(table: Table, whose: str) -> list[str]:
    titles = [COSTS.get(column, column) for column in table.columns]
    return [_line(whose, titles), _line("---", ["---:"] * len(titles))]


def _published(table: Table, line: Published, other: bool = False) -> str:
    name = f"{line.data}: {line.name}" if other else f"*paper: {line.name}*"
    return _line(name, [f"{line.values[c]:g}" if c in line.values else "" for c in table.columns])


def _cell(found: Sequence[float], column: str) -> str:
    digits = 2 if "@" in column or abs(mean(found)) < 10 else 1
    spread = f" ±{stdev(found):.{digits}f}" if len(found) > 1 else ""
    return f"{mean(found):.{digits}f}{spread}"


def _line(name: str, cells: Sequence[str]) -> str:
    return f"| {name} | {' | '.join(cells)} |"
