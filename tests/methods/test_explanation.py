"""Highlighting: the heaviest word is the strongest, and a document can't smuggle in markup or escape codes."""

import re

from zipfel.methods.explanation import Explanation, to_html, to_terminal


def test_html_shades_by_share_of_the_largest_weight():
    page = to_html(["cheap", "red", "bike"], [-1.0, 1.0, 4.0])
    assert [float(a) for a in re.findall(r"140,0,([\d.]+)\)", page)] == [0.0, 0.25, 1.0]


def test_html_escapes_what_the_document_says():
    assert "<script>" not in to_html(["<script>alert(1)</script>"], [1.0])


def test_terminal_colours_only_what_has_weight():
    line = to_terminal(["a", "b", "c"], [0.0, 0.5, 1.0])
    plain, middle, strong = line.split(" ")
    assert plain == "a"
    assert re.fullmatch(r"\x1b\[48;5;\d+;30mb\x1b\[0m", middle)
    assert middle.replace("b", "c") != strong


def test_terminal_drops_escape_codes_of_the_document():
    assert to_terminal(["a\x1b[31mb"], [0.0]) == "a[31mb"


def test_no_weights_at_all():
    assert to_terminal(["a"], [0.0]) == "a"
    assert to_html([], []) == "<p></p>"


def test_top_words_of_a_label():
    found = Explanation([7, 3, 9], [0.1, 0.2, 0.3], {2: [1.0, 3.0, 1.0]})
    assert found.top(2, 2) == [(3, 3.0), (7, 1.0)]
