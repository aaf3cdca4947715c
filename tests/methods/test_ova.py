"""ova with and without a shortlist."""

from __future__ import annotations

import numpy as np

from tests.contract import known
from zipfel.linear import with_random_negatives
from zipfel.methods import make_method
from zipfel.metrics import evaluate
from zipfel.run import Run


def test_answers_behind_a_shortlist_too() -> None:
    method = make_method("ova", {"all_below": 0, "shortlist": 4, "random_negatives": 2})
    method.fit(known().train, None, Run(seed=1, threads=1))
    ranking = method.predict(known().test.X, 3)
    assert evaluate(ranking, known().test.Y, ks=(1,))["P@1"] > 0.9


def test_strangers_are_new_and_distinct() -> None:
    shortlist = np.array([[0, 1], [2, -1]], dtype=np.int32)
    found = with_random_negatives(shortlist, 4, 30, np.random.default_rng(0))
    for row in found:
        real = row[row >= 0]
        assert len(set(real)) == len(real)
    assert set(found[0]) == {-1, 0, 1, 2, 3}
