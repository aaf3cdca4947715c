"""The counting kernels against plain Python."""

from __future__ import annotations

import itertools
import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zipfel.features import _text_kernel as kernel
from zipfel.features import wordtable
from zipfel.features.wordtable import Counted, WordTable

texts_of_letters = st.lists(st.text(alphabet="abAéÉΣ日 .", max_size=60), max_size=6)


def terms(text: str, ngrams: int) -> Counter[str]:
    """The plain twin of counting."""
    words = re.findall(r"\b\w\w+\b", text.lower())
    return Counter(" ".join(words[i : i + n]) for n in range(1, ngrams + 1) for i in range(len(words) - n + 1))


def as_counters(counted: Counted) -> list[Counter[str]]:
    names = counted.table.names(np.arange(len(counted.table)))
    indptr, ids, counts = counted.rows
    return [
        Counter({names[i]: int(n) for i, n in zip(ids[a:b], counts[a:b], strict=True)})
        for a, b in itertools.pairwise(indptr)
    ]


@settings(max_examples=100, deadline=None)
@given(texts_of_letters, texts_of_letters, st.integers(1, 4))
def test_counts_are_those_of_plain_python(first: list[str], second: list[str], ngrams: int) -> None:
    table = WordTable(ngrams, True, capacity=1)
    assert as_counters(table.count(first)) == [terms(text, ngrams) for text in first]
    assert as_counters(table.count(second)) == [terms(text, ngrams) for text in second]
    every = [terms(text, ngrams) for text in first + second]
    names = table.names(np.arange(len(table)))
    assert dict(zip(names, table.points.tolist(), strict=True)) == Counter(name for counts in every for name in counts)
    assert Counter(dict(zip(names, table.occurrences.tolist(), strict=True))) == sum(every, Counter())


@settings(max_examples=50, deadline=None)
@given(texts_of_letters, texts_of_letters, st.integers(1, 3))
def test_looking_up_passes_over_what_is_new(known: list[str], new: list[str], ngrams: int) -> None:
    table = WordTable(ngrams, True)
    table.count(known)
    names = set(table.names(np.arange(len(table))))
    expected = [Counter({term: n for term, n in terms(text, ngrams).items() if term in names}) for text in new]
    before = table.points.tolist()
    assert as_counters(table.look_up(new)) == expected
    assert table.points.tolist() == before


@settings(max_examples=50, deadline=None)
@given(texts_of_letters, texts_of_letters, st.integers(1, 3))
def test_absorbing_is_counting_both(first: list[str], second: list[str], ngrams: int) -> None:
    one, two, both = WordTable(ngrams, True), WordTable(ngrams, True), WordTable(ngrams, True)
    one.count(first)
    two.count(second)
    both.count(first + second)
    mapping = one.absorb(two)
    assert one.names(mapping) == two.names(np.arange(len(two)))
    assert statistics(one) == statistics(both)


def statistics(table: WordTable) -> set[tuple[str, int, int]]:
    names = table.names(np.arange(len(table)))
    return set(zip(names, table.points.tolist(), table.occurrences.tolist(), strict=True))


@given(texts_of_letters, st.integers(1, 3))
@settings(max_examples=50, deadline=None)
def test_order_is_that_of_the_names(texts: list[str], ngrams: int) -> None:
    table = WordTable(ngrams, True)
    table.count(texts)
    ids = np.arange(len(table))
    assert table.names(table.in_order(ids)) == sorted(table.names(ids))


@pytest.mark.parametrize("secret", [[0, 0], [0, 1 << 62], [1, 2]])
def test_words_that_collide_stay_apart(secret: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """With a multiplier of 0 all words have the same hash."""
    monkeypatch.setattr(wordtable, "_SECRET", np.array(secret, dtype=np.int64))
    rng = np.random.default_rng(0)
    text = " ".join("".join(rng.choice(list("abcd"), size=4)) for _ in range(400))
    assert as_counters(WordTable(2, True).count([text, text.upper()])) == [terms(text, 2)] * 2


def test_weighing_is_plain_tfidf() -> None:
    rng = np.random.default_rng(1)
    indptr = np.array([0, 300, 300, 301, 900])
    ids = np.concatenate([rng.permutation(1000)[: b - a] for a, b in itertools.pairwise(indptr)]).astype(np.int32)
    counts = rng.integers(1, 50, len(ids)).astype(np.int32)
    columns = np.where(rng.random(1000) < 0.3, -1, rng.permutation(70_000)[:1000]).astype(np.int32)
    idf = rng.random(70_000) + 1
    expected = np.zeros((4, 70_000))
    for row, (a, b) in enumerate(itertools.pairwise(indptr)):
        for i in range(a, b):
            if columns[ids[i]] >= 0:
                expected[row, columns[ids[i]]] = (1 + np.log(counts[i])) * idf[columns[ids[i]]]
    expected /= np.maximum(np.linalg.norm(expected, axis=1, keepdims=True), 1e-9)
    rows = kernel.Rows(indptr.copy(), ids.copy(), counts)
    values, found, bounds = Counted(rows, WordTable(1, True)).weighed(columns, idf, True)
    for row, (a, b) in enumerate(itertools.pairwise(bounds)):
        np.testing.assert_array_equal(found[a:b], np.flatnonzero(expected[row]))
        np.testing.assert_allclose(values[a:b], expected[row, found[a:b]], rtol=1e-6)
