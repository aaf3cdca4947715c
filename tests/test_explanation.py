"""Highlighting: the heaviest word is the strongest, and a document can't smuggle in markup or escape codes."""

import re

import pytest

from zipfel.errors import ParameterError
from zipfel.explanation import Explained, Explanation, cut, to_html, to_terminal
from zipfel.features.characters import Token


def test_html_shades_by_share_of_the_largest_weight():
    page = to_html(["cheap ", "red", " ", "bike"], [-1.0, 1.0, 0.0, 4.0])
    assert re.findall(r"140,0,([\d.]+)\)\">(\w+)<", page) == [("0.25", "red"), ("1.00", "bike")]
    assert page.startswith("<p>cheap <span")


def test_html_escapes_what_the_document_says():
    assert "<script>" not in to_html(["<script>alert(1)</script>"], [1.0])


def test_terminal_colours_only_what_has_weight():
    line = to_terminal(["a", " ", "b", " ", "c"], [0.0, 0.0, 0.5, 0.0, 1.0])
    plain, middle, strong = line.split(" ")
    assert plain == "a"
    assert re.fullmatch(r"\x1b\[48;5;\d+;30mb\x1b\[0m", middle)
    assert middle.replace("b", "c") != strong


def test_terminal_drops_escape_codes_of_the_document():
    assert to_terminal(["a\x1b[31mb\nc"], [0.0]) == "a[31mb c"


def test_no_weights_at_all():
    assert to_terminal(["a"], [0.0]) == "a"
    assert to_html([], []) == "<p></p>"


def test_top_words_of_a_label():
    found = Explanation([7, 3, 9], [0.1, 0.2, 0.3], {2: [1.0, 3.0, 1.0]})
    assert found.top(2, 2) == [(3, 3.0), (7, 1.0)]


TOKENS = [Token("red", 0, 3), Token("bike", 5, 9), Token("red bike", 0, 9), Token("red", 10, 13)]


def test_pieces_are_the_text_and_an_n_gram_counts_for_each_of_its_words():
    pieces = cut("Red, bike RED", TOKENS, {"red": 0, "red bike": 1})
    assert pieces == [("Red", [0, 1]), (", ", []), ("bike", [1]), (" ", []), ("RED", [0])]
    assert cut("", [], {}) == []


def test_page_shows_attention_and_every_label_and_escapes_all_names():
    pieces = [("<b>", []), ("red", [0]), (" & ", []), ("bike", [1])]
    found = Explained(["red", "bike"], [0.5, 1.0], {"<i>": [1.0, -1.0], "two": [0.0, 2.0]}, {"<i>": 0.75}, pieces)
    page = found.to_html("a <title>")
    assert "<b>" not in page
    assert "&lt;b&gt;" in page
    assert page.count("<h2>") == 3
    assert "<h2>&lt;i&gt; 0.750</h2>" in page
    assert "<h2>two</h2>" in page
    assert "a <title>" not in page
    shaded = re.findall(r"140,0,([\d.]+)\)\">(\w+)<", page)
    assert shaded == [("1.00", "bike"), ("1.00", "red"), ("1.00", "bike")]
    assert found.top("two", 1) == [("bike", 2.0)]
    assert found.to_dict()["labels"][1] == {"label": "two", "score": None, "contributions": [0.0, 2.0]}
    assert found.to_dict()["text"] == "<b>red & bike"
    assert found.highlighted("two").startswith("<b>red & \x1b[")


def test_a_label_that_is_not_explained_is_told_with_those_that_are():
    found = Explained(["red"], [], {"bike": [1.0]}, {"bike": 1.0}, [("red", [0])])
    for ask in (found.reasons, found.top, found.highlighted):
        with pytest.raises(ParameterError, match=r"'boat' is not explained here; these are: 'bike'"):
            ask("boat")
