"""Records of runs as Markdown: mean and spread over seeds, and how each of our methods stands to the best peer."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

Record = dict[str, Any]


@dataclass(frozen=True)
class Column:
    """One measure: where it stands in a record, how it is called and shown, and whether more is better."""

    key: str
    title: str
    more_is_better: bool = True

    def of(self, record: Record) -> float:
        """Quality in per cent, costs as they are."""
        return 100 * float(record["metrics"][self.key]) if self.more_is_better else float(record[self.key])

    def digits(self, value: float) -> int:
        """Decimals that a value of this size is shown with: two in per cent, three figures of a cost."""
        if self.more_is_better:
            return 2
        return next((digits for digits, least in enumerate((100, 10, 1)) if value >= least), 3)

    def show(self, value: float) -> str:
        return f"{value:.{self.digits(value)}f}"


QUALITY = tuple(Column(f"{metric}@{k}", f"{metric}@{k}") for metric in ("P", "PSP") for k in (1, 3, 5))
COSTS = (
    Column("train_seconds", "train s", more_is_better=False),
    Column("peak_mb", "peak MB", more_is_better=False),
    Column("model_mb", "model MB", more_is_better=False),
    Column("batch_ms", "batch ms", more_is_better=False),
    Column("single_ms", "single ms", more_is_better=False),
)
DETAILS = (
    *(Column(f"nDCG@{k}", f"nDCG@{k}") for k in (3, 5)),
    *(Column(f"R@5[{bucket}]", f"R@5 {bucket}") for bucket in ("head", "torso", "tail")),
    Column("coverage@5", "coverage@5"),
    Column("macro-F1@5", "macro-F1@5"),
)


@dataclass(frozen=True)
class Summary:
    """All seeds of one system on one data set."""

    data: str
    system: str
    ours: bool
    records: tuple[Record, ...]

    def mean(self, column: Column) -> float:
        values = [column.of(record) for record in self.records]
        return sum(values) / len(values)

    def spread(self, column: Column) -> float:
        """Sample standard deviation over seeds; 0 where there is one."""
        values = [column.of(record) for record in self.records]
        mean = self.mean(column)
        return math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1)) if len(values) > 1 else 0.0

    def cell(self, column: Column) -> str:
        mean = self.mean(column)
        shown = column.show(mean)
        return f"{shown} ±{self.spread(column):.{column.digits(mean)}f}" if len(self.records) > 1 else shown


def summarise(records: Iterable[Record]) -> dict[str, list[Summary]]:
    """For each data set its systems, in the order in which they were asked for; failed runs are left out."""
    grouped: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        if record["status"] == "ok":
            grouped.setdefault((record["data"], record["system"]), []).append(record)
    found: dict[str, list[Summary]] = {}
    for (data, system), runs in grouped.items():
        found.setdefault(data, []).append(Summary(data, system, bool(runs[0]["ours"]), tuple(runs)))
    return found


def markdown(records: Sequence[Record]) -> str:
    """The whole report: a hardware line, and for each data set its tables and what did not run."""
    lines = ["# Benchmark", "", *_preamble(records), ""]
    summaries = summarise(records)
    for data in dict.fromkeys(record["data"] for record in records):
        found = summaries.get(data, [])
        lines += [f"## {_escaped(data)}", ""]
        if found:
            lines += [*_table(found, (*QUALITY, *COSTS), _ratio_rows), "", *_table(found, DETAILS), ""]
        failed = [r for r in records if r["data"] == data and r["status"] != "ok"]
        lines += [f"- {r['system']}, seed {r['seed']}: {r['status']}" for r in failed] + [""] * bool(failed)
    return "\n".join(lines).rstrip() + "\n"


def _preamble(records: Sequence[Record]) -> list[str]:
    if not records:
        return ["Nothing was run."]
    machines = {
        "{cpu}, {cores} cores, {memory_gb} GB, {system}, Python {python}".format(**r["machine"]): None for r in records
    }
    versions = {f"{'zipfel' if r['ours'] else r['system']} {r['version']}": None for r in records}
    threads = sorted({r["threads"] for r in records})
    seeds = sorted({r["seed"] for r in records})
    return [
        f"{'; '.join(machines)}; {'/'.join(map(str, threads))} threads, seeds {', '.join(map(str, seeds))}"
        + (" (mean ± standard deviation)." if len(seeds) > 1 else "."),
        f"Versions: {', '.join(versions)}.",
        "",
        "Every system got the same rows, a process of its own, and its package's defaults. P and PSP in per cent; peak",
        "MB is the whole process with libraries and data; batch ms is a document of the whole test set, single ms the",
        "median of 200 documents asked one by one, top 5. Best of each column in bold. The rows below a table divide a",
        "method of ours by the best peer of that column: above 1 is ahead for P and PSP, below 1 for the rest.",
    ]


def _table(
    found: Sequence[Summary], columns: Sequence[Column], more_rows: Callable[..., list[list[str]]] | None = None
) -> list[str]:
    rows = [[summary.system, *(_marked(summary, column, found) for column in columns)] for summary in found]
    rows += more_rows(found, columns) if more_rows else []
    header = ["system", *(column.title for column in columns)]
    rule = ["---", *("---:" for _ in columns)]
    return ["| " + " | ".join(map(_escaped, row)) + " |" for row in (header, rule, *rows)]


def _escaped(cell: str) -> str:
    """A name may hold what would end the cell, begin HTML, or command a terminal.

    >>> _escaped("a|b <i>")
    'a&#124;b &lt;i>'
    """
    plain = "".join(letter if letter.isprintable() else " " for letter in cell)
    return plain.replace("&", "&amp;").replace("|", "&#124;").replace("<", "&lt;")


def _marked(summary: Summary, column: Column, found: Sequence[Summary]) -> str:
    """The cell, in bold where it is the best; where all are equal, none is."""
    cell = summary.cell(column)
    shown = {column.show(other.mean(column)) for other in found}
    best = len(shown) > 1 and column.show(summary.mean(column)) == column.show(_best(found, column))
    return f"**{cell}**" if best else cell


def _best(found: Sequence[Summary], column: Column) -> float:
    return (max if column.more_is_better else min)(summary.mean(column) for summary in found)


def ratios(found: Sequence[Summary], columns: Sequence[Column]) -> dict[str, dict[str, float]]:
    """{our method: {column: ours / best peer's}}; empty where no peer ran."""
    peers = [summary for summary in found if not summary.ours]
    if not peers:
        return {}
    return {
        summary.system: {c.title: _divided(summary.mean(c), _best(peers, c)) for c in columns}
        for summary in found
        if summary.ours
    }


def _divided(above: float, below: float) -> float:
    return above / below if below else math.nan


def _ratio_rows(found: Sequence[Summary], columns: Sequence[Column]) -> list[list[str]]:
    return [
        [f"*{system} / best peer*", *(f"*{values[column.title]:.3g}*" for column in columns)]
        for system, values in ratios(found, columns).items()
    ]
