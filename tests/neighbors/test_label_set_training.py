"""The gradient that is written out against differences of the loss; the training by what it must learn."""

from __future__ import annotations

import time

import numpy as np
import pytest
import scipy.sparse as sp

from tests.contract import known
from zipfel.neighbors.label_set_training import (
    LabelSetsConfig,
    LabelSetTraining,
    UnitTable,
    _info_nce_gradient,
)
from zipfel.neighbors.label_sets import fingerprints
from zipfel.nn.adam_tables import Rows, drawn
from zipfel.run import Run

RUN = Run(seed=1, threads=1)
PRINTS = np.array([5, 7, 5, 9])
"""The first and the third have the same label set."""


def _loss(cosines: np.ndarray, prints: np.ndarray) -> float:
    """Plain twin: of all whose set is another, and its own, each finds its own."""
    total = 0.0
    for i, row in enumerate(cosines / 0.05):
        others = [k for k in range(len(row)) if k == i or prints[k] != prints[i]]
        total -= row[i] - np.log(np.exp(row[others]).sum())
    return total / len(cosines)


def _differences(loss: object, at: np.ndarray, step: float = 1e-4) -> np.ndarray:
    found = np.zeros_like(at)
    for place in np.ndindex(at.shape):
        more, less = at.copy(), at.copy()
        more[place] += step
        less[place] -= step
        found[place] = (loss(more) - loss(less)) / (2 * step)  # type: ignore[operator]
    return found


def test_the_gradient_by_cosines() -> None:
    cosines = np.random.default_rng(0).uniform(-0.1, 0.1, (4, 4))
    got = _info_nce_gradient(cosines.astype(np.float32), PRINTS)
    np.testing.assert_allclose(got, _differences(lambda c: _loss(c, PRINTS), cosines), atol=1e-4)
    assert got[0, 2] == got[2, 0] == 0  # no document is told from its own label set


def test_a_hand_worked_gradient() -> None:
    """Two documents, cosines all alike: either is as likely; (1/2 - 1) / 0.05 / 2 and 1/2 / 0.05 / 2."""
    got = _info_nce_gradient(np.zeros((2, 2), dtype=np.float32), np.array([1, 2]))
    np.testing.assert_allclose(got, [[-5, 5], [5, -5]], atol=1e-5)


def test_the_gradient_by_vectors() -> None:
    """Adam's first step goes against the sign of the gradient, by the rate."""
    rng, x = np.random.default_rng(1), np.array([[1, 0, 2], [0, 3, 1]], dtype=np.float32)
    table, wanted = UnitTable(drawn(3, 4, 0.5, rng)), rng.standard_normal((2, 4)).astype(np.float32)
    before = table.weights.astype(np.float64)

    def loss(weights: np.ndarray) -> float:
        codes = x @ weights
        return float((wanted * codes / np.linalg.norm(codes, axis=1, keepdims=True)).sum())

    rows = Rows.of(sp.csr_matrix(x))
    table.learn_units(rows, *table.encode(rows), wanted, 1e-3)
    slope = _differences(loss, before)
    clear = np.abs(slope) > 1e-3
    np.testing.assert_allclose((table.weights - before)[clear], -1e-3 * np.sign(slope)[clear], rtol=0.01)


def test_rows_are_taken_with_what_dropout_keeps() -> None:
    matrix = sp.csr_matrix(np.array([[1, 2, 0], [0, 0, 0], [3, 0, 4]], dtype=np.float32))
    got = Rows.of(matrix).take(np.array([2, 1, 0]), np.array([True, False, True, True]))
    plain = sp.csr_matrix((got.values, got.indices, got.indptr), shape=(3, 3)).toarray()
    np.testing.assert_array_equal(plain, [[3, 0, 4], [0, 0, 0], [1, 0, 0]])


def _gap(pairing: LabelSetTraining) -> float:
    """Mean cosine of documents with their own label set, less that with another's."""
    encoder, test = pairing.encoder(), known().test
    cosines = encoder.encode(test.X) @ encoder.sets(test.Y).T
    return float(np.diag(cosines).mean() - cosines.mean())


def _pairing(**params: float) -> LabelSetTraining:
    train = known().train
    return LabelSetTraining(LabelSetsConfig(dim=16, batch=16, **params), train.n_features, train.n_labels, RUN)


def test_a_document_comes_to_lie_near_its_own_label_set() -> None:
    train, pairing = known().train, _pairing(epochs=12)
    before = _gap(pairing)
    pairing.fit(train.X, train.Y, RUN)
    assert _gap(pairing) > before + 0.2
    assert pairing.has_learnt


def test_the_same_seed_gives_the_same_vectors() -> None:
    train, (one, other) = known().train, (_pairing(epochs=2), _pairing(epochs=2))
    for pairing in (one, other):
        pairing.fit(train.X, train.Y, RUN)
    np.testing.assert_array_equal(one.encoder().features, other.encoder().features)


def test_it_stops_when_the_time_is_up() -> None:
    train = known().train
    late = Run(seed=1, time_budget=0.0, started=time.monotonic() - 1)
    pairing = LabelSetTraining(LabelSetsConfig(dim=16, batch=16, epochs=10**6), train.n_features, train.n_labels, late)
    pairing.fit(train.X, train.Y, late)
    assert not pairing.has_learnt
    assert not pairing.encoder().features.any()
    soon = Run(seed=1, time_budget=0.5)  # time that came later is used
    pairing.fit(train.X, train.Y, soon)
    assert pairing.encoder().features.any()


def test_of_what_no_point_has_nothing_is_known() -> None:
    X = sp.csr_matrix(np.eye(6, 9, dtype=np.float32))
    pairing = LabelSetTraining(LabelSetsConfig(dim=4, keep=1), 9, 5, RUN)
    pairing.fit(X, sp.csr_matrix(np.eye(6, 5, dtype=np.float32)), RUN)
    encoder = pairing.encoder()
    assert encoder.features.any(axis=1).tolist() == [True] * 5 + [False] * 4  # the sixth has no labels
    assert np.isfinite(encoder.units).all()


@pytest.mark.parametrize("Y", [np.zeros((6, 3)), np.ones((6, 3))], ids=["no labels", "one label set"])
def test_nothing_to_learn_is_no_error(Y: np.ndarray) -> None:
    pairing = LabelSetTraining(LabelSetsConfig(dim=4), 5, 3, RUN)
    pairing.fit(sp.csr_matrix(np.eye(6, 5, dtype=np.float32)), sp.csr_matrix(Y.astype(np.float32)), RUN)
    assert np.isfinite(pairing.encoder().features).all()


def test_equal_sets_have_equal_fingerprints() -> None:
    Y = sp.csr_matrix(np.array([[1, 0, 1], [1, 1, 0], [1, 0, 1]], dtype=np.float32))
    one, other, same = fingerprints(Y)
    assert one == same != other
