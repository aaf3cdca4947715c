"""What auto's parts learn from, when there are any, and what is learnt once."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from tests.contract import known
from zipfel.evidence.conjunctions import ConjunctionConfig
from zipfel.linear import LinearConfig
from zipfel.methods import Points
from zipfel.methods.auto_judge import with_held_out
from zipfel.methods.auto_parts import Fitting, join_votes, n_neighbours, n_shortlisted, n_strangers
from zipfel.neighbors.label_set_training import PairingConfig
from zipfel.neighbors.label_sets import PairEncoder
from zipfel.neighbors.words import WordIndex
from zipfel.nn.network import NetworkConfig, NetworkTraining
from zipfel.run import Run


def _fitting(points: Points) -> Fitting:
    near = WordIndex.build(points.X, np.ones(points.n_points, dtype=bool)).search_own(points.X, 10)
    return Fitting(points, near, Run(seed=1, threads=1))


@pytest.mark.parametrize(
    ("n_points", "n_features", "n_labels", "has"),
    [
        (8000, 30, 100, True),
        (7999, 30, 100, False),
        (8000, 2000, 3750, True),
        (8000, 2001, 9, False),
        (8000, 30, 3751, False),
    ],
)
def test_a_network_wants_many_points_of_few_features_and_labels(
    n_points: int, n_features: int, n_labels: int, has: bool
) -> None:
    rows = np.arange(n_points)
    X, Y = (sp.csr_matrix((np.ones(n_points, np.float32), (rows, rows % n))) for n in (n_features, n_labels))
    assert _fitting(Points(X, Y)).has_room_for_network() == has


def test_pairs_and_conjunctions_are_learnt_once_from_the_points_that_are_seen_first() -> None:
    points = known().train
    fitting, every = _fitting(points), np.ones(points.n_points, dtype=bool)
    seen = np.arange(points.n_points) % 4 > 0
    pairing, ranker = PairingConfig(dim=8, epochs=1), LinearConfig(damping=1.0, cost=0.3)
    pairs = fitting.train_pairing(pairing, seen)
    assert isinstance(pairs, PairEncoder)
    fitting.problems(seen, 5, 2)
    words = fitting.train_conjunctions(ConjunctionConfig(threshold=0), ranker, seen)
    fitting.problems(every, 5, 2)
    again = fitting.train_pairing(pairing, every)
    np.testing.assert_array_equal(pairs.features, again.features)
    assert fitting.train_conjunctions(ConjunctionConfig(threshold=0), ranker, every) is words
    fitting.train_pairing(pairing, ~seen)  # no more, but fewer: they stay
    np.testing.assert_array_equal(pairs.features, fitting.train_pairing(pairing, every).features)
    of_all = _fitting(points)
    of_all.problems(every, 5, 2)
    other = of_all.train_conjunctions(ConjunctionConfig(threshold=0), ranker, every)
    assert abs(other.ranker.weights_ - words.ranker.weights_).max() > 0.01  # so that not all were seen at first


def test_a_network_is_learnt_once_and_again_from_many_more_points() -> None:
    points, config = known().train, NetworkConfig(hidden=8, dim=8, epochs=1)
    fitting, every = _fitting(points), np.ones(points.n_points, dtype=bool)
    network = fitting.train_network(config, np.arange(points.n_points) % 4 > 0)
    assert fitting.train_network(config, every) is network
    other = _fitting(points)
    network = other.train_network(config, np.arange(points.n_points) % 3 == 0)
    assert other.train_network(config, every) is not network


def test_a_rehearsed_network_has_half_of_the_passes_and_is_not_learnt_again() -> None:
    points, config = known().train, NetworkConfig(hidden=8, dim=8, epochs=3)
    fitting, every = _fitting(points), np.ones(points.n_points, dtype=bool)
    seen, fitting.rehearses = np.arange(points.n_points) % 3 == 0, True
    network = fitting.train_network(config, seen)
    rows = points.take(np.flatnonzero(seen))
    twice = NetworkTraining(config.replace(epochs=2), rows.X, rows.Y, fitting.run).fit(fitting.run)
    np.testing.assert_array_equal(network.features, twice.network().features)
    assert fitting.train_network(config, every) is network


def test_a_network_of_all_points_is_there_only_if_it_had_time() -> None:
    points, config = known().train, NetworkConfig(hidden=8, dim=8, epochs=2)
    found = _fitting(points).train_whole_network(config, Run(seed=1))
    wanted = NetworkTraining(config, points.X, points.Y, Run(seed=1)).fit(Run(seed=1)).network()
    assert found is not None
    np.testing.assert_array_equal(found.labels, wanted.labels)
    assert _fitting(points).train_whole_network(config, Run(seed=1, time_budget=0.0)) is None


@pytest.mark.parametrize(("each", "networked", "wanted"), [(1, False, 7), (2, False, 10), (2, True, 7), (5, True, 10)])
def test_documents_with_many_labels_have_long_shortlists_but_beside_a_network(
    each: int, networked: bool, wanted: int
) -> None:
    Y = sp.csr_matrix(np.kron(np.eye(30, dtype=np.float32), np.ones((1, each), dtype=np.float32)))
    assert n_shortlisted(7, Y, networked=networked) == wanted


def test_what_is_learnt_once_is_learnt_again_from_a_large_validation_set() -> None:
    points = known().train
    fitting, every = _fitting(points), np.ones(points.n_points, dtype=bool)
    seen = np.arange(points.n_points) % 3 == 0
    pairing, ranker = PairingConfig(dim=8, epochs=1), LinearConfig(damping=1.0, cost=0.3)
    fitting.problems(seen, 5, 2)
    pairs, words = fitting.train_pairing(pairing, seen), fitting.train_conjunctions(ConjunctionConfig(), ranker, seen)
    assert isinstance(pairs, PairEncoder)
    fitting.problems(every, 5, 2)
    assert (fitting.train_pairing(pairing, every).features != pairs.features).any()
    assert fitting.train_conjunctions(ConjunctionConfig(), ranker, every) is not words


@pytest.mark.parametrize(("n_points", "n_labels", "has"), [(200, 1, True), (201, 1, False), (201, 2, True)])
def test_many_points_of_one_label_have_no_forest(
    n_points: int, n_labels: int, has: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zipfel.methods.auto_parts.DEAR", 200)
    X = sp.csr_matrix(np.random.default_rng(0).random((n_points, 30), dtype=np.float32))
    Y = sp.csr_matrix(np.eye(10, dtype=np.float32)[np.arange(n_points) % 5])
    Y = sp.csr_matrix(Y + np.roll(Y.toarray(), 5, axis=1)) if n_labels == 2 else Y
    assert _fitting(Points(X, Y)).has_forest == has


@pytest.mark.parametrize(("n_points", "words", "strangers"), [(50, 4, 50), (50, 5, 100), (51, 5, 50)])
def test_few_long_documents_are_told_from_more_strangers(
    n_points: int, words: int, strangers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zipfel.methods.auto_parts._FEW_LONG", 51)
    monkeypatch.setattr("zipfel.evidence.setting._LONG", 5)
    X = sp.csr_matrix(np.tile(np.arange(100) < words, (n_points, 1)).astype(np.float32))
    Y = sp.csr_matrix(np.eye(n_points, dtype=np.float32))
    assert n_strangers(None, Y, _fitting(Points(X, Y)).most_strangers()) == strangers
    assert n_strangers(7, Y, 100) == 7


def test_joined_neighbours_keep_their_own_kinds_of_votes() -> None:
    one = np.array([[3, 1]]), np.array([[[0.2], [0.8]]], dtype=np.float32)
    other = np.array([[7]]), np.array([[[0.5, 0.6]]], dtype=np.float32)
    ids, weights = join_votes(one, other)
    assert ids.tolist() == [[3, 1, 7]]
    np.testing.assert_allclose(weights[0], [[0.2, 0, 0], [0.8, 0, 0], [0, 0.5, 0.6]])


@pytest.mark.parametrize(("n_words", "has"), [(2500, False), (2501, True)])
def test_pairs_of_words_want_many_words(n_words: int, has: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zipfel.methods.auto_parts._FEW_LONG", 100)
    words = np.arange(100 * 101) % n_words
    X = sp.csr_matrix((np.ones(len(words), np.float32), words, np.arange(101) * 101), shape=(100, 4000))
    Y = sp.csr_matrix(np.eye(100, 4, dtype=np.float32))
    assert _fitting(Points(X, Y)).has_long_documents() == has


@pytest.mark.parametrize(
    ("n_points", "n_labels", "wanted"), [(8000, 5, 200), (7999, 5, 100), (8000, 4, 100), (100_001, 5, 100)]
)
def test_many_points_with_several_labels_have_more_voters(n_points: int, n_labels: int, wanted: int) -> None:
    assert n_neighbours(sp.csr_matrix(np.ones((n_points, n_labels), dtype=np.float32))) == wanted


@pytest.mark.parametrize(
    ("n_points", "share", "held"),
    [(19, None, 19), (100, None, 25), (2000, None, 400), (5000, None, 600), (2000, 0.1, 200)],
)
def test_of_few_points_a_larger_share_is_held_out(n_points: int, share: float | None, held: int) -> None:
    rows = sp.csr_matrix(np.ones((n_points, 1), dtype=np.float32))
    assert len(with_held_out(Points(rows, rows), None, share, Run(seed=1))[1]) == held
