"""Names of labels are found as they stand, inflected, in compounds and near each other; what is found is kept."""

from __future__ import annotations

import copy
import random
import time
from collections.abc import Sequence

import numpy as np
import pytest

from zipfel.errors import ModelFileError
from zipfel.labeltext import COLUMNS, Matches, Name, NameMatcher
from zipfel.labeltext.stems import folded, light_stem, words_of
from zipfel.state import State

NAMES = [
    Name(0, "Computer game"),
    Name(1, "Boat"),
    Name(2, "Entwicklungspolitik"),
    Name(3, "Politik"),
    Name(4, "Entwicklung"),
    Name(5, "Heimat (Motiv)"),
    Name(6, "Game"),
    Name(7, "ship"),
    Name(1, "ship", is_preferred=False),
]
TEXTS = ["games for boats", "politik", "entwicklung", "a ship"]


@pytest.fixture(scope="module")
def matcher() -> NameMatcher:
    return NameMatcher.fit(NAMES, TEXTS, n_labels=8)


def evidence(found: Matches, row: int = 0) -> dict[int, dict[str, float]]:
    """By label, what is not zero."""
    rows = zip(found.rows, found.labels, found.evidence, strict=True)
    return {
        int(label): {name: float(value) for name, value in zip(COLUMNS, values, strict=True) if value}
        for doc, label, values in rows
        if doc == row
    }


def test_exact_inflected_and_inner(matcher: NameMatcher) -> None:
    found = evidence(matcher.match(["A Computer game. Two computer games."]))
    assert set(found) == {0, 6}
    assert found[0]["exact"] == found[0]["inflected"] == pytest.approx(np.log(2))
    assert found[6]["inner"] == pytest.approx(np.log(3))
    assert "exact" not in found[6]
    assert found[0]["words"] == pytest.approx(np.log(2))
    assert found[0]["early"] == pytest.approx(1 / 1.1)
    assert found[0]["rarity"] == pytest.approx(np.log(5))  # "Computer" is in no training document


def test_near_and_far(matcher: NameMatcher) -> None:
    assert evidence(matcher.match(["A game for the computer"]))[0]["near"] == pytest.approx(1 / 3)
    assert 0 not in evidence(matcher.match(["A game " + "of words " * 20 + "for the computer"]))


def test_compounds(matcher: NameMatcher) -> None:
    found = evidence(matcher.match(["Die Politik der Entwicklung"]))
    assert found[2]["split"] == pytest.approx(1 / 2)
    found = evidence(matcher.match(["Entwicklungspolitik"]))
    assert "exact" in found[2]
    assert found[3]["head"] == pytest.approx(7 / 19)
    assert found[4]["modifier"] == pytest.approx(11 / 19)


def test_a_qualifier_may_be_left_out(matcher: NameMatcher) -> None:
    found = evidence(matcher.match(["Heimat", "Heimat als Motiv"]))
    assert found[5]["unqualified"] == 1
    assert "unqualified" not in evidence(matcher.match(["Heimat Motiv"]))[5]


def test_names_of_several_labels(matcher: NameMatcher) -> None:
    found = evidence(matcher.match(["a ship"]))
    assert found[1]["shared"] == found[7]["shared"] == pytest.approx(np.log(2))
    assert "preferred" in found[7]
    assert "preferred" not in found[1]


def test_documents_do_not_depend_on_each_other(matcher: NameMatcher) -> None:
    texts = ["Computer games", None, "boat", "", "Spielheimat", "Heimat und boat " * 700]
    together = matcher.match(texts)
    alone = [matcher.match([text]) for text in texts]
    np.testing.assert_array_equal(np.diff(together.indptr), [len(m.labels) for m in alone])
    np.testing.assert_array_equal(together.labels, np.concatenate([m.labels for m in alone]))
    np.testing.assert_array_equal(together.evidence, np.concatenate([m.evidence for m in alone]))
    np.testing.assert_array_equal(together.take(np.array([2, 0])).labels, [1, *alone[0].labels])


def test_places_of_labels() -> None:
    found = Matches(np.array([0, 2, 2, 3]), np.array([1, 4, 0]), np.zeros((3, len(COLUMNS))))
    asked = np.array([[4, 0, -1], [1, 4, 0], [0, 9, 1]])
    np.testing.assert_array_equal(found.places(asked), [[1, -1, -1], [-1, -1, -1], [2, -1, -1]])
    empty = Matches(np.array([0, 0]), np.zeros(0, dtype=np.int32), np.zeros((0, len(COLUMNS))))
    np.testing.assert_array_equal(empty.places(np.array([[3, -1]])), [[-1, -1]])


def _plainly(names: Sequence[Name], text: str) -> dict[int, float]:
    """Label -> log(1 + matches word by word, in any form, inside of others or not)."""
    stems = [light_stem(folded(word)) for word in words_of(text)]
    found: dict[int, int] = {}
    for name in names:
        own = [light_stem(folded(word)) for word in words_of(name.text)]
        n = sum(stems[i : i + len(own)] == own for i in range(len(stems) - len(own) + 1))
        if n:
            found[name.label] = found.get(name.label, 0) + n
    return {label: np.log1p(n) for label, n in found.items()}


def test_the_kernel_equals_the_plain_search() -> None:
    rng = random.Random(1)
    words = ["ab", "cd", "ef", "gh", "ij"]
    names = [Name(i, " ".join(rng.choices(words, k=rng.randint(1, 3)))) for i in range(40)]
    matcher = NameMatcher.fit(names, [], n_labels=40)
    for _ in range(20):
        text = " ".join(rng.choices([*words, "xx"], k=30))
        found = evidence(matcher.match([text]))
        counts = {
            label: np.log1p(sum(np.expm1(f.get(kind, 0)) for kind in ("exact", "inflected", "inner")))
            for label, f in found.items()
        }
        assert {label: n for label, n in counts.items() if n > 1e-6} == pytest.approx(_plainly(names, text), rel=1e-5)


def test_it_is_kept_and_checked(matcher: NameMatcher) -> None:
    texts = ["Computer games", "Die Politik der Entwicklung", "Heimatfilm", "ships"]
    state, found = matcher.state(), matcher.match(texts)
    for other in (NameMatcher.restored(state, n_labels=8), copy.deepcopy(matcher)):
        again = other.match(texts)
        np.testing.assert_array_equal(again.labels, found.labels)
        np.testing.assert_array_equal(again.evidence, found.evidence)
    damages = {
        "label": -1,
        "start": 99,
        "stems": 10_000,
        "forms": -2,
        "n_seen": -5,
        "kind": 8,
    }
    for name, value in damages.items():
        array = state.arrays[name].copy()
        array[-1] = value
        with pytest.raises(ModelFileError, match="do not fit"):
            NameMatcher.restored(State({**state.arrays, name: array}, state.facts), n_labels=8)
    broken = {**state.arrays, "stems_text": np.array([255, 254], dtype=np.uint8)}
    with pytest.raises(ModelFileError, match="no list of words"):
        NameMatcher.restored(State(broken, state.facts), n_labels=8)
    with pytest.raises(ModelFileError, match="stemmer"):
        NameMatcher.restored(State(state.arrays, {**state.facts, "stemmer": 3}), n_labels=8)


def test_no_names_and_no_labels() -> None:
    matcher = NameMatcher.fit([], ["a text"], n_labels=3)
    assert len(matcher.match(["a text"]).labels) == 0
    assert len(NameMatcher.restored(matcher.state(), 3).match(["a text", ""])) == 2


@pytest.mark.slow
def test_fast_with_many_names() -> None:
    rng = random.Random(1)
    words = ["".join(rng.choices("abcdefghijklmnoprstu", k=rng.randint(4, 12))) for _ in range(60_000)]
    weights = [1 / (1 + i) for i in range(len(words))]
    names = [Name(i, " ".join(rng.choices(words, k=rng.randint(1, 3)))) for i in range(200_000)]
    texts = [" ".join(rng.choices(words, weights, k=200)) for _ in range(500)]
    matcher = NameMatcher.fit(names, texts, n_labels=len(names))
    matcher.match(texts)
    start = time.process_time()
    matcher.match(texts)
    assert (time.process_time() - start) / len(texts) < 0.0006  # 0.15 ms where nothing else runs
