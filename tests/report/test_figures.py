"""Figures: what goes in stands in the picture, and nothing in them can run."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from zipfel.report.figures import Bars, bar_chart, curve, reliability_diagram


def heights(svg: str) -> list[float]:
    return [float(h) for h in re.findall(r'<rect class="s\d" [^>]*height="([\d.]+)"', svg)]


def test_bars_are_as_high_as_their_values() -> None:
    found = heights(bar_chart(Bars(["a", "b"], [("P@1", [50.0, 100.0])]), "title"))
    assert found[1] == 2 * found[0]


def test_reliability_dots_stand_where_probability_and_share_say() -> None:
    svg = reliability_diagram([0.5], [0.5], [10], "title")
    ET.fromstring(svg)
    x, y = re.search(r'cx="([\d.]+)" cy="([\d.]+)"', svg).groups()  # type: ignore[union-attr]
    assert (float(x), float(y)) == (52 + (460 - 62) / 2, 14 + (260 - 54) / 2)


def test_a_curve_without_points_is_nothing() -> None:
    assert curve([], "title", "x", "y") == ""
    ET.fromstring(curve([(1, 100), (10, 1)], "title", "x", "y"))


def test_names_are_escaped() -> None:
    svg = bar_chart(Bars(["<script>"], [("&", [1.0])]), '"><script>')
    assert "<script" not in svg
