"""Figures: what goes in stands in the picture, and nothing in them can run."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from zipfel.report.figures import Bars, Rows, bar_chart, curve, line_chart, reliability_diagram, row_chart


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


def test_a_line_has_a_dot_for_each_point_within_the_axes() -> None:
    svg = line_chart([(1, 11.0674), (2, 11.0612), (3, 11.0524)], "loss", "epoch")
    ET.fromstring(svg)
    ys = [float(y) for y in re.findall(r'<circle [^>]*cy="([\d.]+)"', svg)]
    assert len(ys) == 3
    assert ys == sorted(ys)  # the loss falls
    assert min(ys) >= 14
    assert max(ys) <= 220
    ticks = re.findall(r'text-anchor="end">([^<]+)<', svg)
    assert len(set(ticks)) == 5  # with as many digits as tell them apart


def test_a_line_of_one_or_equal_points_is_drawn() -> None:
    ET.fromstring(line_chart([(1, 0.0)], "loss", "epoch"))
    ET.fromstring(line_chart([(1, 2.0), (2, 2.0)], "loss", "epoch"))
    assert line_chart([], "loss", "epoch") == ""


def test_rows_are_as_long_as_their_values_also_below_zero() -> None:
    svg = row_chart(Rows(["<a>", "b"], [1.0, -2.0], [0.1, 0.0]), "gains")
    ET.fromstring(svg)
    widths = [float(w) for w in re.findall(r'<rect [^>]*width="([\d.]+)"', svg)]
    assert abs(widths[1] - 2 * widths[0]) < 0.2
    assert svg.count("whisker") == 1
    assert row_chart(Rows([], []), "gains") == ""
