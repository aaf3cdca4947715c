"""Held-out points: how many there are, and that every label stays in the rest."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from zipfel.methods.rankae import RankAeConfig
from zipfel.points import Points
from zipfel.training.held_out import candidates_of, hold_out, split_to_choose


def _points(n: int, n_labels: int) -> Points:
    labels = np.arange(n) % n_labels
    Y = sp.csr_matrix((np.ones(n, np.float32), (np.arange(n), labels)), shape=(n, n_labels))
    return Points(sp.identity(n, dtype=np.float32, format="csr"), Y)


def test_a_share_is_held_out_up_to_the_limit() -> None:
    rest, held = hold_out(_points(100, 4), 0.1, np.random.default_rng(0))
    assert (rest.n_points, held.n_points) == (90, 10)
    assert hold_out(_points(100, 4), 0.5, np.random.default_rng(0), at_most=7)[1].n_points == 7


def test_a_label_of_one_point_stays_in_the_rest() -> None:
    rest, held = hold_out(_points(40, 30), 0.5, np.random.default_rng(0))
    assert held.n_points >= 1
    assert len(np.unique(rest.Y.indices)) == 30


def test_few_points_or_labels_of_one_point_only_choose_by_themselves() -> None:
    for points in (_points(19, 2), _points(40, 40)):
        assert hold_out(points, 0.2, np.random.default_rng(0)) == (points, points)


def test_what_is_trained_on_what_chooses_and_all_points() -> None:
    points = _points(100, 4)
    rest, held, everything = split_to_choose(points, None, 0.2, np.random.default_rng(0))
    assert (rest.n_points, held.n_points, everything) == (80, 20, points)
    given = Points(points.X[:5], _points(5, 6).Y)
    rest, held, everything = split_to_choose(points, given, 0.2, np.random.default_rng(0))
    assert (rest, held.n_points, held.n_labels, everything.n_points) == (points, 5, 4, 105)
    few = _points(9, 2)
    assert split_to_choose(few, None, 0.2, np.random.default_rng(0)) == (few, few, few)


def test_what_a_config_leaves_open_is_tried_each_once() -> None:
    settings = ({"balance": 10.0, "margin": 0.2}, {"balance": 3.0, "margin": 0.1})
    assert [(c.balance, c.margin) for c in candidates_of(RankAeConfig(), settings)] == [(10.0, 0.2), (3.0, 0.1)]
    assert [(c.balance, c.margin) for c in candidates_of(RankAeConfig(margin=0.5), settings)] == [
        (10.0, 0.5),
        (3.0, 0.5),
    ]
    assert len(candidates_of(RankAeConfig(margin=0.5, balance=1.0), settings)) == 1
