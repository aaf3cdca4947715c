"""Tables for people: metrics, predictions, parameters, a model's facts."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from zipfel.cli.console import one_line, printable, tell

if TYPE_CHECKING:
    from zipfel.metrics import Reliability
    from zipfel.metrics.label_report import Failure

BUCKETS = ("head", "torso", "tail")


def console() -> Console:
    return Console(highlight=False, soft_wrap=False)


def show(table: Table) -> None:
    """A table where the output is a terminal; else lines, with tabs between the cells, for other programs."""
    screen = console()
    if screen.is_terminal:
        screen.print(table)
        return
    lines = [str(table.title)] if table.title else []
    if table.show_header:
        lines.append("\t".join(str(column.header) for column in table.columns))
    rows = zip(*(column.cells for column in table.columns), strict=True)
    lines += ["\t".join(str(cell) for cell in row) for row in rows]
    tell("\n".join(lines))


def width() -> int:
    """Of running text: the terminal's, at most 100; 80 where the output is no terminal."""
    screen = console()
    return min(100, screen.width) if screen.is_terminal else 80


def indented(text: str, by: int, rest: int | None = None) -> str:
    """Wrapped to `width`: the first line from column `by` on, the others from `rest`."""
    further = " " * (by if rest is None else rest)
    return textwrap.fill(text, width(), initial_indent=" " * by, subsequent_indent=further, break_on_hyphens=False)


def metric_table(scores: Mapping[str, float], ks: Sequence[int], title: str = "") -> Table:
    """One row a metric, one column a k; then the same for each bucket of label frequency, in per cent."""
    table = Table(title=title or None, title_justify="left", header_style="bold")
    table.add_column("metric (%)")
    for k in ks:
        table.add_column(f"@{k}", justify="right")
    for suffix in ("", *(f"[{bucket}]" for bucket in BUCKETS)):
        names = list(dict.fromkeys(key.split("@")[0] for key in scores if _suffix(key) == suffix))
        for i, name in enumerate(names):
            cells = [_percent(scores.get(f"{name}@{k}{suffix}")) for k in ks]
            shown = f"{name} {suffix.strip('[]')}".strip()
            table.add_row(shown, *cells, end_section=i == len(names) - 1)
    return table


def _suffix(key: str) -> str:
    at = key.find("[")
    return key[at:] if at >= 0 else ""


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.2f}"


def set_table(scores: Mapping[str, float], threshold: str) -> Table:
    """Metrics of the labels that reach a threshold."""
    table = Table(title=f"labels that reach the threshold {threshold}", title_justify="left", header_style="bold")
    found = {name.removesuffix("@t"): value for name, value in scores.items() if name.endswith("@t")}
    for name in found:
        table.add_column(name if name == "labels" else f"{name} (%)", justify="right")
    table.add_row(*(f"{value:.2f}" if name == "labels" else _percent(value) for name, value in found.items()))
    return table


def reliability_table(found: Reliability, k: int) -> Table:
    """A bar for each bin of probability. Its length is the share of the bin's labels that are true; | marks the mean
    probability."""
    title = f"reliability of the first {k}: ECE {100 * found.error:.2f} %"
    table = Table(title=title, title_justify="left", header_style="bold")
    for column, justify in (("probability", "right"), ("true", "right"), ("labels", "right"), ("", "left")):
        table.add_column(column, justify=justify)  # type: ignore[arg-type]
    for probability, share, size in zip(found.probability, found.share, found.size, strict=True):
        bar = list("█" * round(_BAR * share) + " " * (_BAR + 1 - round(_BAR * share)))
        bar[round(_BAR * probability)] = "|"
        table.add_row(_percent(probability), _percent(share), f"{size:,}", "".join(bar))
    return table


def label_table(rows: Sequence[Mapping[str, Any]], title: str) -> Table:
    """Labels with their metrics, as `LabelReport.rows` gives them."""
    table = Table(title=title, title_justify="left", header_style="bold")
    for name in rows[0] if rows else ():
        table.add_column(name, justify="left" if name in ("label", "bucket") else "right")
    for row in rows:
        cells = (f"{value:.3f}" if isinstance(value, float) else one_line(str(value)) for value in row.values())
        table.add_row(*map(Text, cells))
    return table


def failure_table(failures: Sequence[Failure], title: str, ids: Sequence[str]) -> Table:
    """Labels with the documents where they fail."""
    table = Table(title=title, title_justify="left", header_style="bold")
    for column, justify in (("label", "left"), ("times", "right"), ("for example in", "left")):
        table.add_column(column, justify=justify)  # type: ignore[arg-type]
    for label, times, documents in failures:
        table.add_row(Text(one_line(label)), f"{times:,}", Text(one_line(", ".join(ids[i] for i in documents))))
    return table


_BAR = 40
"""Signs of the longest bar."""


def prediction_table(title: str, labels: Iterable[tuple[str, float]]) -> Table:
    table = Table(title=Text(one_line(title)), title_justify="left", header_style="bold", min_width=60)
    table.add_column("label")
    table.add_column("score", justify="right")
    for name, score in labels:
        table.add_row(Text(one_line(name)), f"{score:.3f}")
    return table


def fact_table(facts: Mapping[str, Any]) -> Table:
    """Nested facts as indented lines; names that look like markup are shown as they are."""
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in _flat(facts):
        table.add_row(Text(printable(name)), Text(printable(value)))
    return table


def _flat(facts: Mapping[str, Any], depth: int = 0) -> Iterable[tuple[str, str]]:
    for name, value in facts.items():
        if isinstance(value, Mapping) and value:
            yield "  " * depth + name, ""
            yield from _flat(value, depth + 1)
        else:
            yield "  " * depth + name, "-" if value in (None, {}, []) else str(value)
