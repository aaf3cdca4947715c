"""Words and stems."""

from __future__ import annotations

import pytest

from zipfel.errors import ParameterError
from zipfel.labeltext.stems import folded, light_stem, make_stemmer, words_of


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Häuser", "Haus"),
        ("Netzwerke", "Netzwerk"),
        ("politischen", "politischer"),
        ("studies", "study"),
        ("computers", "computer"),
        ("Straßen", "Strasse"),
        ("maisons", "maison"),
    ],
)
def test_inflected_words_have_one_stem(one: str, other: str) -> None:
    assert light_stem(folded(one)) == light_stem(folded(other))


@pytest.mark.parametrize(("one", "other"), [("Rat", "Ratte"), ("bus", "bu"), ("C60", "C6"), ("class", "clas")])
def test_other_words_have_not(one: str, other: str) -> None:
    assert light_stem(folded(one)) != light_stem(folded(other))


def test_words_are_runs_of_letters_and_digits() -> None:
    assert words_of("Vitamin-K2_und  Ökonomie!") == ["Vitamin", "K2", "und", "Ökonomie"]
    assert words_of(" -- ") == []


def test_snowball_is_a_choice_and_others_are_refused() -> None:
    pytest.importorskip("snowballstemmer")
    assert make_stemmer("snowball:english")("relational") == "relat"
    with pytest.raises(ParameterError, match="no language 'klingon'"):
        make_stemmer("snowball:klingon")
    with pytest.raises(ParameterError, match="stems must be light"):
        make_stemmer("porter")
