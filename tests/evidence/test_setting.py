"""What the length of documents tells of their damping, and the choice of a cost."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.evidence import setting
from zipfel.evidence.setting import COSTS, Asked, choose_cost
from zipfel.linear import LinearConfig, Problems


def _told_by_words(wrong: float, n: int = 1500, n_labels: int = 100) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """A label a point, told by a word of its own among nine that mean nothing; a share of the labels is wrong."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, n_labels, n)
    words = np.column_stack([labels, n_labels + rng.integers(0, 200, (n, 9))])
    X = sp.csr_matrix((np.ones(words.size), words.ravel(), np.arange(0, words.size + 1, 10)), shape=(n, n_labels + 200))
    X.sum_duplicates()
    X = sp.csr_matrix(X / np.sqrt(X.multiply(X).sum(axis=1)), dtype=np.float32)
    given = np.where(rng.random(n) < wrong, rng.integers(0, n_labels, n), labels)
    return X, sp.csr_matrix((np.ones(n, dtype=np.float32), (np.arange(n), given)), shape=(n, n_labels))


def _chosen_cost(
    wrong: float, costs: tuple[float, float], n_asked: int = 500, n_labels: int = 100
) -> tuple[float, Problems]:
    X, Y = _told_by_words(wrong, n_labels=n_labels)
    learnt, asked = slice(0, 1000), slice(1000, 1000 + n_asked)
    every = np.tile(np.arange(Y.shape[1], dtype=np.int32), (1000, 1))
    problems = Problems.build(Y[learnt], every)
    held = Asked(X[asked], every[:n_asked], np.ones((n_asked, Y.shape[1], 1), dtype=np.float32), Y[asked])
    return choose_cost(X[learnt], problems, held, LinearConfig(), costs, seed=0), problems


def test_labels_that_follow_from_the_text_want_a_higher_cost() -> None:
    assert _chosen_cost(0.0, (0.001, 1.0))[0] == 1.0
    assert _chosen_cost(0.0, (1.0, 0.001))[0] == 1.0


def test_labels_given_by_whim_do_not() -> None:
    assert _chosen_cost(0.7, (0.03, 30.0))[0] == 0.03


def test_what_was_learnt_in_choosing_stays_as_a_start_and_for_some_labels_only() -> None:
    cost, problems = _chosen_cost(0.0, (0.001, 1.0))
    solved = np.add.reduceat(problems.dual, problems.ptr[:-1]) > 0
    assert 0 < solved.sum() <= 0.2 * problems.n_labels
    assert cost == 1.0
    assert problems.dual.max() > 0.02  # 2 C is the most that the other cost would allow


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("few", [{"n_asked": 20}, {"n_labels": 2}])
def test_too_few_points_or_labels_to_choose_a_cost_on(few: dict[str, int]) -> None:
    cost, problems = _chosen_cost(0.0, COSTS, **few)
    assert cost == COSTS[0]
    assert not problems.dual.any()


def test_long_documents_and_dense_numbers_are_not_damped() -> None:
    rng = np.random.default_rng(0)
    short, long = (sp.random(1000, 4000, words / 4000, "csr", np.float32, random_state=rng) for words in (40, 100))
    dense = sp.csr_matrix(rng.random((1000, 120)), dtype=np.float32)
    assert [setting.are_short(X) for X in (short, long, dense)] == [True, False, False]
    assert [setting.are_long(X) for X in (short, long, dense)] == [False, True, False]
    assert [setting.likely_damping(X) for X in (short, long, dense)] == [0.6, 1.0, 1.0]
    assert [setting.likely_cost(X) for X in (short, long, dense)] == [0.3, 1.0, 1.0]


@pytest.mark.parametrize(("words", "power"), [(1, 0.6), (45, 0.6), (65, 0.8), (85, 1.0), (99, 1.0)])
def test_the_more_words_the_less_the_rare_ones_are_damped(words: int, power: float) -> None:
    rows = np.zeros((20, 2000), dtype=np.float32)
    rows[:, :words] = 1
    assert setting.likely_damping(sp.csr_matrix(rows)) == power


def test_documents_without_words_are_short_and_none_at_all_are_no_error() -> None:
    empty, none = (sp.csr_matrix((n, 5), dtype=np.float32) for n in (3, 0))
    assert [setting.likely_damping(X) for X in (empty, none)] == [0.6, 1.0]
