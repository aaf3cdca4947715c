from __future__ import annotations

import json

import pytest

from zipfel.data.vocabulary import Concept, Vocabulary, by_id, clean_id
from zipfel.errors import ModelFileError


@pytest.fixture
def boats() -> Vocabulary:
    return Vocabulary(
        [
            Concept("x:1", {"en": "sailing boat", "de": "Segelboot"}, {"en": ["yacht"]}, ["x:2"], "1.1"),
            Concept("x:2", {"en": "Boat", "de": "Boot"}),
            Concept("x:3", {"": "boathouse"}),
            Concept("x:4", {}),
        ]
    )


def test_names_in_a_language_or_what_stands_in(boats: Vocabulary) -> None:
    assert [boats.name(i, "de") for i in range(4)] == ["Segelboot", "Boot", "boathouse", "x:4"]
    assert [boats.name(i) for i in range(4)] == ["sailing boat", "Boat", "boathouse", "x:4"]
    assert (boats.identifier(0), boats.notation(0), boats.notation(1)) == ("x:1", "1.1", None)
    assert boats.languages == ["de", "en", ""]


def test_a_second_preferred_name_is_an_alternative() -> None:
    concept = Concept("a", {"en": "one"})
    concept.add_name("two", "en")
    concept.add_name("two", "en")
    assert concept == Concept("a", {"en": "one"}, {"en": ["two"]})


def test_find_gives_equal_names_first_then_beginnings_then_words(boats: Vocabulary) -> None:
    assert boats.find("BOAT") == [1, 2, 0]
    assert boats.find("boat", limit=2) == [1, 2]
    assert boats.find("boo", language="de") == [1]
    assert boats.find("yach") == [0]
    assert boats.find("yach", language="de") == []
    assert boats.find("boat", language="fr") == [1, 2, 0]
    assert boats.find("1.1") == boats.find("X:1") == [0]
    assert boats.find(" ") == boats.find("boat", limit=0) == []


def test_state_returns(boats: Vocabulary) -> None:
    state = json.loads(json.dumps(boats.to_json()))
    assert Vocabulary.from_json(state, 4).concepts == boats.concepts


@pytest.mark.parametrize(
    "change",
    [
        {"ids": [1]},
        {"ids": "abc"},
        {"names": {"en": ["a"]}},
        {"alt_names": {"en": {"9": ["a"]}}},
        {"alt_names": {"en": {"-1": ["a"]}}},
        {"broader": {"0": "x"}},
        {"notations": {"0": 5}},
        {"names": None},
    ],
)
def test_a_damaged_state_is_refused(boats: Vocabulary, change: dict[str, object]) -> None:
    with pytest.raises(ModelFileError, match=r"vocabulary\.json"):
        Vocabulary.from_json({**boats.to_json(), **change}, 4)
    with pytest.raises(ModelFileError, match="not 5"):
        Vocabulary.from_json(boats.to_json(), 5)


def test_concepts_that_occur_twice_are_joined() -> None:
    found = by_id([Concept("a", {"en": "one"}), Concept("b"), Concept("a", {"de": "eins"}, {}, ["b"], "7")])
    assert list(found.values()) == [Concept("a", {"en": "one", "de": "eins"}, {}, ["b"], "7"), Concept("b")]


def test_clean_id() -> None:
    assert [clean_id(word) for word in (" <x:1> ", "x:1", "<x")] == ["x:1", "x:1", "<x"]
