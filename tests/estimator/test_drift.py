"""What updates leave in a model, and when they say that it should be fitted again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.errors import ModelFileError
from zipfel.estimator.drift import Growth, some_rows
from zipfel.ranking import Ranking

START = Growth(fitted=1000, fitted_words=500)


def update(n: int, right: int, odds: float) -> Growth:
    """n documents with label 0, whose best label is right so many times."""
    best = np.where(np.arange(n) < right, 0, 1)[:, None]
    Y = sp.csr_matrix(np.tile([1.0, 0, 0], (n, 1)))
    return START.joined(Ranking(best, np.full((n, 1), odds, dtype=np.float32)), Y, Y, 2, 7)


def test_sums() -> None:
    found = update(100, 60, 0.6)
    assert (found.updates, found.documents, found.judged, found.right, found.labels) == (1, 100, 100, 60, 100)
    assert (found.new_labels, found.new_words) == (0, 7)
    assert found.expected == pytest.approx(60)
    assert found.variance == pytest.approx(24)
    Y = sp.csr_matrix(np.array([[0, 0, 1.0]]))
    pads = found.joined(Ranking(np.array([[-1]]), np.array([[-np.inf]], dtype=np.float32)), Y, Y, 2, 0)
    assert (pads.judged, pads.right, pads.new_labels, pads.expected) == (101, 60, 1, found.expected)


def test_no_reason_while_probabilities_hold() -> None:
    assert update(100, 60, 0.6).reasons() == []
    assert update(100, 52, 0.6).reasons() == []  # by chance
    assert "no new fit" in update(100, 60, 0.6).advice()


def test_reasons() -> None:
    (wrong,) = update(100, 40, 0.6).reasons()
    assert "40.0%" in wrong
    assert "60.0%" in wrong
    steady = update(100, 60, 0.6)
    assert "came to the 1,000" in replace(steady, documents=501).advice()
    assert "12.0%" in replace(steady, new_labels=12).advice()
    assert "words" in replace(steady, new_words=501).advice()


def test_facts_come_back_and_damaged_ones_are_refused() -> None:
    found = update(10, 6, 0.6)
    assert Growth.from_facts(found.facts()) == replace(found, expected=6.0, variance=round(found.variance, 3))
    for facts in (None, [], {}, {**found.facts(), "judged": -1}, {**found.facts(), "fitted": "x"}):
        with pytest.raises(ModelFileError):
            Growth.from_facts(facts)


def test_rows_that_are_judged() -> None:
    assert len(range(10)[some_rows(10)]) == 10
    assert len(range(9001)[some_rows(9001)]) == 196
