"""Gradients against differences of the loss, a function that no sum over features tells, labels that came later."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse as sp

from zipfel.errors import ModelFileError
from zipfel.nn.adam_tables import Rows, Table, drawn
from zipfel.nn.network import Network, NetworkConfig, NetworkTraining, _bce_gradient
from zipfel.run import Run

RUN = Run(seed=1, threads=1)
Array = npt.NDArray[np.float64]


def _either_or(n: int = 1200, seed: int = 0) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """Of two words, there or not, label 0 wants exactly one, label 1 both or none; label 2 has no points."""
    rng = np.random.default_rng(seed)
    words = rng.random((n, 2)) < 0.5
    X = np.column_stack([words, ~words, rng.random((n, 3)) < 0.5]).astype(np.float32)
    odd = words[:, 0] != words[:, 1]
    return sp.csr_matrix(X / 2), sp.csr_matrix(np.column_stack([odd, ~odd, odd & ~odd]).astype(np.float32))


def _trained(**params: float) -> tuple[Network, sp.csr_matrix, sp.csr_matrix]:
    X, Y = _either_or()
    config = NetworkConfig(**{"hidden": 32, "dim": 16, "epochs": 20, "batch": 32, **params})
    return NetworkTraining(config, X, Y, RUN).fit(RUN).network(), *_either_or(300, seed=1)


def test_a_hand_worked_gradient() -> None:
    """Half likely, and said to be so by a score of 0: 1/2 less the truth, by two rows."""
    truth = Rows.of(sp.csr_matrix(np.array([[1, 0], [0, 0]], dtype=np.float32)))
    got = _bce_gradient(np.zeros((2, 2), dtype=np.float32), truth)
    np.testing.assert_allclose(got, [[-0.25, 0.25], [0.25, 0.25]])


class _Drawn:
    """A generator that leaves out the same units whenever it is asked."""

    def __init__(self, drawn: Array, order: npt.NDArray[np.int64]) -> None:
        self._drawn, self._order = drawn, order

    def random(self, shape: tuple[int, int], dtype: type) -> Array:
        return self._drawn[: shape[0]].astype(dtype)

    def permutation(self, _: object) -> npt.NDArray[np.int64]:
        return self._order


def _gradient(loss: Callable[[list[Array]], float], at: list[Array], i: int) -> Array:
    """By differences, of the i-th part."""
    slope = np.zeros_like(at[i])
    for place in np.ndindex(slope.shape):
        values = []
        for sign in (1, -1):
            moved = [part.copy() for part in at]
            moved[i][place] += sign * 1e-5
            values.append(loss(moved))
        slope[place] = (values[0] - values[1]) / 2e-5
    return slope


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("dropout", [0.0, 0.6])
def test_the_gradients_of_all_layers(dense: bool, dropout: float) -> None:
    rng = np.random.default_rng(2)
    rows = np.zeros((1000, 3 if dense else 60), dtype=np.float32)
    rows[:, :3] = rng.random((1000, 3))
    y = (rng.random((1000, 2)) < 0.4).astype(float)
    X, Y = sp.csr_matrix(rows), sp.csr_matrix(y, dtype=np.float32)
    training = NetworkTraining(NetworkConfig(hidden=5, dim=4, dropout=dropout, epochs=1, batch=1000), X, Y, RUN)
    assert isinstance(training._rows, np.ndarray) == dense
    layers = training._middle, training._last
    tables = [training._features, training._bias, *(part for layer in layers for part in (layer.weights, layer.bias))]
    training._middle.bias.weights[:] = 0.1  # not on the edge, where all units before are left out
    training._guess(np.arange(1000))
    before = [table.weights.astype(np.float64) for table in tables]
    drawn, chosen = rng.random((1000, 5)), np.flatnonzero(training._labelled)
    kept = (drawn[: len(chosen)] >= dropout) / (1 - dropout)

    def loss(parts: list[Array]) -> float:
        features, a, middle, b, last, c = parts
        first = np.maximum(rows[chosen, :3] @ features + a, 0) * kept
        z = np.maximum(first @ middle.T + b, 0) @ last.T + c
        return float((np.logaddexp(0, z) - y[chosen] * z).sum() / len(chosen))

    training._rng = _Drawn(drawn, chosen)  # type: ignore[assignment]
    training.fit(RUN)  # one step, after which Adam's first moments are a tenth of the gradient
    for i, table in enumerate(tables):
        np.testing.assert_allclose(10 * table._first, _gradient(loss, before, i), rtol=1e-3, atol=1e-5)
        assert np.abs(table._first).max() > 1e-4


@pytest.mark.parametrize("dense", [False, True])
def test_of_features_that_no_point_has_nothing_is_known(dense: bool) -> None:
    X, Y = _either_or(1000)
    X = sp.csr_matrix(sp.hstack([X, sp.csr_matrix((1000, 1 if dense else 100), dtype=np.float32)]))
    network = NetworkTraining(NetworkConfig(hidden=8, dim=4, epochs=1), X, Y, RUN).fit(RUN).network()
    assert network.features.any(axis=1).tolist() == [True] * 7 + [False] * (X.shape[1] - 7)


def test_what_two_features_mean_together_is_learnt() -> None:
    network, X, Y = _trained()
    labels = np.tile([0, 1], (300, 1))
    (scores,) = network.opinions(X, labels)
    assert ((scores[:, 0] > scores[:, 1]) == (Y[:, [0]].toarray().ravel() > 0)).mean() > 0.95


def test_labels_that_it_does_not_know_are_nan() -> None:
    network, X, _ = _trained(epochs=1)
    (scores,) = network.opinions(X[:3], np.array([[0, 1, 2], [1, 3, -1], [-1, -1, -1]]))
    assert np.isnan([scores[0, 2], scores[1, 1]]).all()
    assert np.isfinite([scores[0, 0], scores[0, 1], scores[1, 0]]).all()
    assert scores[1, 2] == 0
    assert not scores[2].any()


def test_the_same_seed_gives_the_same_network_and_a_saved_one_answers_the_same() -> None:
    (one, X, _), (other, _, _) = _trained(epochs=2), _trained(epochs=2)
    labels = np.tile(np.arange(3), (300, 1))
    loaded = Network.restored(one.state(), 7, 3)
    for network in (other, loaded):
        np.testing.assert_array_equal(one.opinions(X, labels)[0], network.opinions(X, labels)[0])


@pytest.mark.parametrize("damage", ["shape", "missing", "nan", "labels"])
def test_a_damaged_network_is_refused(damage: str) -> None:
    arrays, n_labels = _trained(epochs=1)[0].state(), 3
    if damage == "shape":
        arrays["middle"] = arrays["middle"][:, :-1]
    elif damage == "missing":
        del arrays["bias1"]
    elif damage == "nan":
        arrays["bias2"] = np.full(3, np.nan, dtype=np.float32)
    else:
        n_labels = 2
    with pytest.raises(ModelFileError):
        Network.restored(arrays, 7, n_labels)


def test_it_stops_when_the_time_is_up() -> None:
    X, Y = _either_or()
    late = Run(seed=1, time_budget=0.0, started=time.monotonic() - 1)
    training = NetworkTraining(NetworkConfig(hidden=4, dim=4, epochs=10**6), X, Y, late).fit(late)
    assert not training.network().features.any()


@pytest.mark.parametrize("empty", ["X", "Y"])
def test_nothing_to_learn_from_is_no_error(empty: str) -> None:
    X, Y = _either_or(40)
    X, Y = (X * 0, Y) if empty == "X" else (X, sp.csr_matrix(Y.shape, dtype=np.float32))
    X.eliminate_zeros()
    network = NetworkTraining(NetworkConfig(hidden=4, dim=4), X, Y, RUN).fit(RUN).network()
    found = network.opinions(X, np.tile([0, 1], (40, 1)))[0]
    assert np.isfinite(found).all() if empty == "X" else np.isnan(found).all()


def test_a_table_learns_from_sparse_rows_what_it_does_from_dense_ones() -> None:
    rng = np.random.default_rng(3)
    X, grad = sp.random(20, 9, 0.4, "csr", np.float32, random_state=rng), rng.random((20, 4), dtype=np.float32)
    one, other = (Table(drawn(9, 4, 1.0, np.random.default_rng(0))) for _ in range(2))
    np.testing.assert_allclose(one.sums(Rows.of(X)), other.sums(X.toarray()), rtol=1e-5)
    one.learn_sums(Rows.of(X), grad, 0.1)
    other.learn_sums(X.toarray(), grad, 0.1)
    np.testing.assert_allclose(one.weights, other.weights, rtol=1e-4)
