"""What `zipfel data stats` prints: facts, groups of labels by frequency, and a histogram."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zipfel.cli.console import one_line

if TYPE_CHECKING:
    from zipfel.data import Dataset, Stats


def show_stats(dataset: Dataset, found: Stats) -> None:
    from rich.console import Console
    from rich.table import Table

    facts = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for name, value in _facts(found):
        facts.add_row(name, value)
    console = Console()
    console.print(one_line(dataset.name), style="bold", highlight=False, markup=False)
    console.print(facts, highlight=False)
    groups = Table(box=None, padding=(0, 2, 0, 0))
    for i, column in enumerate(("labels by points", "labels", "share", "pairs", "share")):
        groups.add_column(column, justify="right" if i else "left")
    for b in found.buckets:
        groups.add_row(b.name, f"{b.labels:,}", f"{b.label_share:.1%}", f"{b.pairs:,}", f"{b.pair_share:.1%}")
    console.print()
    console.print(groups, highlight=False)
    console.print()
    console.print(_histogram(found), highlight=False)


def _facts(found: Stats) -> list[tuple[str, str]]:
    rows = [
        ("points", f"{found.n_points:,}"),
        (
            "features",
            f"{found.n_features:,} ({found.features_a_point:.1f} a point)" if found.n_features else "raw text",
        ),
        ("labels", f"{found.n_labels:,}"),
        ("labels a point", f"{found.labels_a_point:.2f} (at most {found.most_labels_a_point:,})"),
        ("points a label", f"{found.points_a_label:.2f} (at most {found.most_points_a_label:,})"),
        ("tail labels", f"{found.tail_share:.1%} have at most 5 points"),
    ]
    for what, count in (("labels", found.rows_without_labels), ("features", found.rows_without_features)):
        if count:
            rows.append((f"rows without {what}", f"{count:,}"))
    return rows


def _histogram(found: Stats) -> Any:
    """Bars of labels by their number of points; the colours tell tail, torso and head."""
    from rich.table import Table

    colours = {"tail": "cyan", "torso": "green", "head": "yellow"}
    table = Table(box=None, padding=(0, 1, 0, 0))
    table.add_column("points a label", justify="right")
    table.add_column("labels", justify="right")
    table.add_column("")
    longest = max((bar.labels for bar in found.histogram), default=1) or 1
    for bar in found.histogram:
        width = round(40 * bar.labels / longest)
        drawn = "█" * width or ("▏" if bar.labels else "")
        points = f"{bar.low:,}" if bar.low == bar.high else f"{bar.low:,}-{bar.high:,}"
        table.add_row(points, f"{bar.labels:,}", f"[{colours[bar.bucket]}]{drawn}[/] {bar.bucket}")
    return table
