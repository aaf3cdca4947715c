"""The choice of a setting: taken where it matters, left where it does not."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from zipfel.ranker import RankerConfig
from zipfel.ranker.setting import SETTINGS, Setting, choose_setting


def _loud(n: int = 600, seed: int = 0) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """Each row has its topic's word, quietly, and a loud word that means nothing."""
    rng = np.random.default_rng(seed)
    topics = rng.integers(0, 8, n)
    X = np.zeros((n, 108), dtype=np.float32)
    X[np.arange(n), topics] = 0.05
    X[np.arange(n), 8 + rng.integers(0, 100, n)] = 1.0
    Y = np.zeros((n, 8), dtype=np.float32)
    Y[np.arange(n), topics] = 1
    return sp.csr_matrix(X), sp.csr_matrix(Y)


def test_loud_words_are_damped_where_that_ranks_better() -> None:
    X, Y = _loud()
    tried = (Setting(2.0, 1.0), Setting(0.1, 1.0))
    assert choose_setting(X, Y, np.random.default_rng(0), RankerConfig(), tried) == tried[1]
    assert choose_setting(X, Y, np.random.default_rng(0), RankerConfig(), tried[::-1]) == tried[1]


def test_the_first_stays_where_nothing_differs() -> None:
    X, Y = _loud()
    X = sp.csr_matrix((X > 0).astype(np.float32))  # powers of one change nothing
    assert choose_setting(X, Y, np.random.default_rng(0), RankerConfig(), SETTINGS) == SETTINGS[0]


def test_too_few_points_to_choose_on() -> None:
    X, Y = _loud(3)
    assert choose_setting(X, Y, np.random.default_rng(0), RankerConfig(), SETTINGS) == SETTINGS[0]
