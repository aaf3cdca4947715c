"""How often matches of a label are right is counted, without the document that asks, and joined into odds."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.labeltext import Name, NameMatcher
from zipfel.labeltext.trust import LEARNT, Found, columns_of, is_strong, learn_odds

NAMES = [Name(0, "boat"), Name(1, "bike"), Name(2, "sea")]
TEXTS = ["a boat at sea", "a bike at sea", "a boat", "the sea", "a steamboat"]
Y = sp.csr_matrix(np.array([[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1], [1, 0, 0]], dtype=np.float32))


@pytest.fixture(scope="module")
def matcher() -> NameMatcher:
    return NameMatcher.fit(NAMES, TEXTS, n_labels=3)


def test_counts_of_seen_documents(matcher: NameMatcher) -> None:
    found = Found.of(matcher, TEXTS)
    everything = found.counts(np.ones(5, dtype=bool), Y)
    # strong, right, weak, right, documents
    assert everything.tolist() == [[2, 2, 1, 1, 3], [1, 1, 0, 0, 1], [3, 1, 0, 0, 1]]
    first_two = found.counts(np.array([True, True, False, False, False]), Y)
    assert first_two.tolist() == [[1, 1, 0, 0, 1], [1, 1, 0, 0, 1], [2, 0, 0, 0, 0]]


def test_a_document_does_not_count_itself(matcher: NameMatcher) -> None:
    counts = Found.of(matcher, TEXTS).counts(np.ones(5, dtype=bool), Y)
    matches = matcher.match(TEXTS[3:4])
    alone = columns_of(matches, counts, np.array([True]))
    unseen = LEARNT.index("unseen")
    assert alone[0, unseen] == 1  # no other document has the label
    assert columns_of(matches, counts)[0, unseen] == 0
    trust = LEARNT.index("trust of strong")
    assert alone[0, trust] < columns_of(matches, counts)[0, trust]
    assert is_strong(matches).tolist() == [True]


def test_odds_follow_from_what_was_right() -> None:
    rng = np.random.default_rng(1)
    names = [Name(label, f"word{label}") for label in range(20)]
    own = rng.random((600, 20)) < 0.1
    said = own | (rng.random((600, 20)) < 0.1)  # labels from 10 on stand in a text only where they are right
    said[:, 10:] = own[:, 10:]
    texts = [" ".join(f"word{j}" for j in np.flatnonzero(row)) for row in said]
    truth = sp.csr_matrix(own.astype(np.float32))
    matcher = NameMatcher.fit(names, texts, n_labels=20)
    counts = Found.of(matcher, texts).counts(np.ones(600, dtype=bool), truth)
    odds = learn_odds(matcher.match(texts), truth, counts)
    found = odds(columns_of(matcher.match(["word3 word14"]), counts))
    assert found[1] > 2 > found[0] > -1.5
