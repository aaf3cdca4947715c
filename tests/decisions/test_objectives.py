"""Sets of labels that are best by a metric, document by document and for a whole file."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest

from zipfel.decisions import OBJECTIVES, Objective, Thresholds
from zipfel.errors import ParameterError
from zipfel.metrics import Propensity
from zipfel.ranking import Ranking

COUNTS = np.array([1000, 200, 50, 3])


def ranked(p: list[list[float]]) -> Ranking:
    """Candidates in the order of the labels' numbers."""
    scores = np.array(p, dtype=np.float32)
    return Ranking(np.tile(np.arange(scores.shape[1]), (len(p), 1)), scores)


def objective(name: str, counts: np.ndarray = COUNTS) -> Objective:
    return Objective(name, Thresholds(f1=(0.6, 0.4, 0.2), micro=(0.3, 0.3, 0.3)), counts, 2000)


def test_precision_takes_the_likeliest_and_psp_the_rare() -> None:
    ranking = ranked([[0.5, 0.2, 0.6, 0.45]])
    assert objective("precision").best(ranking, 2).labels.tolist() == [[2, 0]]
    assert objective("psp").best(ranking, 2).labels.tolist() == [[3, 2]]
    assert objective("coverage").best(ranking, 1).labels.tolist() == [[3]]


def test_the_constants_of_psp_decide_what_rare_labels_are_worth() -> None:
    ranking = ranked([[0.5, 0.2, 0.6, 0.45]])
    even = replace(objective("psp"), propensity=Propensity(0.0, 1.5))  # A = 0: all labels have the same propensity
    assert even.best(ranking, 2).labels.tolist() == [[2, 0]]


def test_f1_leaves_out_what_costs_more_than_it_brings() -> None:
    ranking = ranked([[0.5, 0.2, 0.6, 0.05], [0.1, 0.0, 0.2, 0.05]])
    assert objective("micro-f1").best(ranking, 3).labels.tolist() == [[2, 0, -1], [2, -1, -1]]
    assert objective("macro-f1").best(ranking, 3).labels.tolist()[0] == [2, 0, -1]


def test_pads_stay_pads() -> None:
    ranking = Ranking(np.array([[1, -1], [-1, -1]]), np.array([[0.9, -np.inf], [-np.inf, -np.inf]], dtype=np.float32))
    for name in OBJECTIVES:
        assert objective(name).best(ranking, 2).labels.tolist() == [[1, -1], [-1, -1]]
        assert objective(name).together(ranking, 2).labels.tolist() == [[1, -1], [-1, -1]]


def expected_metric(name: str, p: np.ndarray, given: np.ndarray) -> float:
    """With expected counts in place of counts."""
    hits, n_given, true = (p * given).sum(axis=0), given.sum(axis=0), p.sum(axis=0)
    if name == "micro-f1":
        return float(2 * hits.sum() / (n_given.sum() + true.sum()))
    if name == "macro-f1":
        return float((2 * hits / (n_given + true)).mean())
    return float((1 - np.prod(1 - p * given, axis=0)).mean())


@pytest.mark.parametrize("name", ["micro-f1", "macro-f1", "coverage"])
def test_together_comes_near_the_best_of_all_sets(name: str) -> None:
    rng = np.random.default_rng(3)
    p = rng.beta(0.6, 1.5, (3, 4))
    sets = [[j in chosen for j in range(4)] for size in (1, 2) for chosen in combinations(range(4), size)]
    best = max(expected_metric(name, p, np.array(given)) for given in product(sets, repeat=3))
    found = objective(name).together(ranked(p.tolist()), 2)
    given = np.zeros(p.shape, dtype=bool)
    for row, labels in enumerate(found.labels):
        given[row, labels[labels >= 0]] = True
    assert given.sum(axis=1).min() >= 1
    assert expected_metric(name, p, given) >= 0.97 * best
    alone = np.argsort(-p, axis=1)[:, :2]
    plain = np.zeros(p.shape, dtype=bool)
    np.put_along_axis(plain, alone, True, axis=1)
    assert expected_metric(name, p, given) >= expected_metric(name, p, plain)


def test_together_is_better_in_truth() -> None:
    rng = np.random.default_rng(5)
    base = 1 / np.arange(2, 42)
    p = np.clip(base * rng.gamma(0.5, 2, (400, 40)), 0, 0.95)
    true = rng.random(p.shape) < p
    ranking = ranked(p.tolist())
    counts = (p.sum(axis=0) * 5).astype(int)

    def macro(found: Ranking) -> float:
        given = np.zeros(p.shape, dtype=bool)
        for row, labels in enumerate(found.labels):
            given[row, labels[labels >= 0]] = True
        return float(np.mean(2 * (given & true).sum(axis=0) / (given.sum(axis=0) + true.sum(axis=0))))

    plain = macro(objective("precision", counts).best(ranking, 3))
    served = macro(objective("macro-f1", counts).best(ranking, 3))
    together = macro(objective("macro-f1", counts).together(ranking, 3))
    assert together > plain + 0.02
    assert served > plain


def test_an_unknown_metric_is_refused() -> None:
    with pytest.raises(ParameterError, match="did you mean 'macro-f1'"):
        objective("macrof1")
