"""Tables for people: metrics, predictions, parameters, a model's facts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from zipfel.cli.console import one_line, printable

if TYPE_CHECKING:
    from zipfel.config import Parameter
    from zipfel.metrics import Reliability

BUCKETS = ("head", "torso", "tail")


def console() -> Console:
    return Console(highlight=False, soft_wrap=False)


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
    table = Table(title=f"labels from the threshold {threshold} on", title_justify="left", header_style="bold")
    found = {name.removesuffix("@t"): value for name, value in scores.items() if name.endswith("@t")}
    for name in found:
        table.add_column(name if name == "labels" else f"{name} (%)", justify="right")
    table.add_row(*(f"{value:.2f}" if name == "labels" else _percent(value) for name, value in found.items()))
    return table


def reliability_table(found: Reliability, k: int) -> Table:
    """A bar for each bin of probability: as long as the share of its labels that are true; | marks the probability."""
    title = f"reliability of the first {k}: ECE {100 * found.error:.2f} %"
    table = Table(title=title, title_justify="left", header_style="bold")
    for column, justify in (("probability", "right"), ("true", "right"), ("labels", "right"), ("", "left")):
        table.add_column(column, justify=justify)  # type: ignore[arg-type]
    for probability, share, size in zip(found.probability, found.share, found.size, strict=True):
        bar = list("█" * round(_BAR * share) + " " * (_BAR + 1 - round(_BAR * share)))
        bar[round(_BAR * probability)] = "|"
        table.add_row(_percent(probability), _percent(share), f"{size:,}", "".join(bar))
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


def parameter_table(parameters: Sequence[Parameter]) -> Table:
    table = Table(header_style="bold", box=None, pad_edge=False)
    table.add_column("  parameter", no_wrap=True)  # half a name can't be typed
    for column in ("default", "allowed", "in the paper", "what it does"):
        table.add_column(column)
    for p in parameters:
        table.add_row(
            *(Text(word) for word in (f"  {p.name}", str(p.default), p.constraint or p.kind, p.symbol, p.help))
        )
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
