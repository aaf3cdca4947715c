from __future__ import annotations

import pytest

from zipfel.data import read
from zipfel.data.vocabulary import Concept, Vocabulary
from zipfel.data.vocabulary_labels import LabelFinder, describe, match_labels, renamed
from zipfel.errors import DataError, ParameterError


@pytest.fixture
def boats() -> Vocabulary:
    return Vocabulary(
        [
            Concept("x:1", {"en": "boat"}),
            Concept("x:2", {"en": "ship"}, {"en": ["vessel"]}),
            Concept("x:3", {"en": "Jar"}, {"en": ["vessel"]}),
            Concept("x:4", {"en": "jar"}),
            Concept("x:5"),
        ]
    )


def rows(put, *labels: str, name: str = "a.jsonl"):
    return read(put(name, "\n".join(f'{{"text": "t", "labels": [{row}]}}' for row in labels)))


def test_find(boats: Vocabulary) -> None:
    find = LabelFinder(boats).find
    assert [find(word) for word in ("x:2", "<x:2>", "ship", "SHIP", "car")] == [[1], [1], [1], [1], []]
    assert find("vessel") == [1, 2]
    assert [find(word) for word in ("Jar", "jar", "JAR")] == [[2], [3], [2, 3]]


def test_labels_keep_their_names_and_come_first(put, boats: Vocabulary) -> None:
    data, vocabulary, unmatched = match_labels(rows(put, '"<x:2>", "boat"', '"x:1", "<x:4>"', '"<x:3>"'), boats)
    assert data.label_names == ["<x:2>", "boat", "<x:4>", "<x:3>", "<x:5>"]
    assert data.Y.toarray().tolist() == [[1, 1, 0, 0, 0], [0, 1, 1, 0, 0], [0, 0, 0, 1, 0]]
    assert [c.id for c in vocabulary.concepts] == ["x:2", "x:1", "x:4", "x:3", "x:5"]
    assert not unmatched


@pytest.mark.parametrize(
    ("labels", "others"), [('"x:2"', ["x:1", "x:3", "x:4", "x:5"]), ('"ship"', ["boat", "Jar", "jar", "x:5"])]
)
def test_the_others_are_called_as_most_are(put, boats: Vocabulary, labels: str, others: list[str]) -> None:
    assert match_labels(rows(put, labels), boats)[0].label_names[1:] == others


def test_names_of_two_concepts_give_way_to_identifiers(put) -> None:
    vocabulary = Vocabulary([Concept("x:1", {"": "a"}), Concept("x:2", {"": "b"}), Concept("x:3", {"": "b"})])
    assert match_labels(rows(put, '"a"'), vocabulary)[0].label_names == ["a", "b", "x:3"]


def test_unknown_and_ambiguous_labels_are_told_with_their_line(put, boats: Vocabulary) -> None:
    data = rows(put, '"boat"', '"car", "vessel"', '"car"')
    matched, _, unmatched = match_labels(data, boats)
    assert matched.Y.sum() == 1
    assert describe(unmatched, "a.jsonl") == [
        "a.jsonl:2: label 'car' is not in the vocabulary; skipped",
        "a.jsonl:2: label 'vessel' is the name of 2 concepts: x:2, x:3; skipped",
    ]
    with pytest.raises(DataError, match=r"a:2: label .car. is not in the vocabulary; 1 more"):
        match_labels(data, boats, "refuse")


def test_many_unknown_labels_are_counted(put, boats: Vocabulary) -> None:
    *_, unmatched = match_labels(rows(put, '"boat"', *(f'"{i}"' for i in range(9))), boats)
    assert describe(unmatched, "f")[-1] == "f: 9 labels, 9 times in all, were skipped like these"


def test_a_wrong_vocabulary_is_refused(put, boats: Vocabulary) -> None:
    with pytest.raises(DataError, match="none of the 2 labels is in the vocabulary; the first is 'car'"):
        match_labels(rows(put, '"car", "tree"'), boats)
    with pytest.raises(ParameterError, match="unknown_labels must be one of skip, refuse"):
        match_labels(rows(put, '"boat"'), boats, "keep")


def test_renamed_gives_labels_of_other_data_a_models_names(put, boats: Vocabulary) -> None:
    data = renamed(
        rows(put, '"ship", "car"', '"<x:2>", "x:1"'), ["x:1", "x:2", "x:3", "x:4", "x:5"], LabelFinder(boats)
    )
    assert data.label_names == ["x:2", "car", "x:1"]
    assert data.Y.toarray().tolist() == [[1, 1, 0], [1, 0, 1]]
