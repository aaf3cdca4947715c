"""auto's plan as a table: each part, whether it was tried, what it gains on held-out points, and whether it stayed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from zipfel.cli.console import say

if TYPE_CHECKING:
    from zipfel.classifier import Zipfel


def show_plan(model: Zipfel, *, as_json: bool) -> None:
    """auto's parts as a table; on standard error beside JSON."""
    plan = [asdict(tried) for tried in getattr(model.method_, "plan_", [])]
    if plan:
        Console(highlight=False, stderr=as_json).print(plan_table(plan))
    else:
        say(f"method {model.method} has no plan: only auto chooses among parts")


def plan_table(plan: Sequence[Mapping[str, Any]]) -> Table:
    """plan: the fact `plan` of a model of auto. Gains: what the mean of P@1, P@3 and P@5, and the
    log-likelihood of a held-out document, lose without the part."""
    table = Table(header_style="bold", box=None, pad_edge=False)
    table.add_column("part", no_wrap=True)
    table.add_column("tried")
    table.add_column("gain, points of P", justify="right")
    table.add_column("log-likelihood", justify="right")
    table.add_column("kept", no_wrap=True)
    table.add_column("why not")
    for one in plan:
        table.add_row(
            Text(str(one["part"])),
            "yes" if one["tried"] else "no",
            _gain(one, "gain", "error", 100),
            _gain(one, "likelihood", "likelihood_error", 1),
            "yes" if one["kept"] else "no",
            Text("" if one["kept"] else str(one["why"])),
        )
    return table


def _gain(one: Mapping[str, Any], name: str, error: str, scale: float) -> str:
    """The gain with its standard error; empty for parts that are kept without a test."""
    return "" if one[name] is None else f"{scale * one[name]:+.2f} ± {scale * one[error]:.2f}"
