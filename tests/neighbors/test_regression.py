"""The regression's codes and opinions against plain arithmetic, and by what they must learn."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from tests.contract import known
from zipfel.errors import DataError, ModelFileError
from zipfel.index.base import unit_rows
from zipfel.neighbors.regression import Kernel, Landmarks, RegressionConfig, RegressionEncoder
from zipfel.neighbors.votes import FAINT
from zipfel.neighbors.words import WordIndex
from zipfel.run import Run

RUN = Run(seed=1, threads=1)


def _landmarks(**params: float) -> Landmarks:
    """Of all of train."""
    train = known().train
    found = Landmarks(RegressionConfig(landmarks=train.n_points, **params), train.X, train.Y, RUN)
    found.add(train.X, train.Y)
    return found


def _opinions(encoder: RegressionEncoder, X: sp.csr_matrix) -> np.ndarray:
    every = np.tile(np.arange(len(encoder.labels)), (X.shape[0], 1))
    return encoder.opinions(encoder.encode(X), every)[0]


def test_the_kernel_equals_its_definition() -> None:
    rng = np.random.default_rng(0)
    Z = sp.csr_matrix(np.rint(255 * unit_rows(rng.random((4, 6)).astype(np.float32))))
    X = unit_rows(rng.random((3, 6)).astype(np.float32))
    cosines = X @ unit_rows(Z.toarray().astype(np.float32)).T
    got = Kernel(WordIndex.whole(Z), 0.25)(sp.csr_matrix(X))
    np.testing.assert_allclose(got, 0.75 * cosines + 0.25 * cosines**2, atol=2e-3)  # rows are kept in bytes


def test_it_is_the_ridge_regression_in_closed_form() -> None:
    """With all training points as landmarks: s = p + k (K'K + r K)^-1 K' (Y - p)."""
    train, test = known().train, known().test
    found = _landmarks(ridge=0.5, dim=7)
    kernel = found.kernel
    K, k, p = kernel(train.X).astype(np.float64), kernel(test.X), train.Y.toarray().mean(axis=0)
    own = kernel.own()
    lifted = K.T @ K + 0.5 * own
    lifted += 1e-6 * np.diag(lifted).mean() * np.eye(len(own))
    wanted = p + k @ np.linalg.solve(lifted, K.T @ (train.Y.toarray() - p))
    np.testing.assert_allclose(_opinions(found.encoder(), test.X), np.clip(wanted, 0, 1), atol=0.01)


def test_points_in_two_goes_are_points_in_one() -> None:
    train = known().train
    parts = Landmarks(RegressionConfig(landmarks=train.n_points), train.X, train.Y, RUN)
    for rows in (np.arange(50), np.arange(50, train.n_points)):
        parts.add(train.X[rows], train.Y[rows])
    one, other = _opinions(_landmarks().encoder(), train.X), _opinions(parts.encoder(), train.X)
    np.testing.assert_allclose(one, other, atol=1e-3)


def test_few_directions_are_the_best_ones() -> None:
    """Predictions of train in 3 of 7 directions: as near to all 7 as a singular value decomposition gets."""
    train, found = known().train, _landmarks(dim=3)
    found._directions = found._directions[:, :5]  # of the labels' 7, as if there were more labels
    encoder = found.encoder()
    for _ in range(3):
        encoder = found.encoder()
    every = _landmarks(dim=7).encoder()
    whole = every.encode(train.X) @ every.labels.T
    near = encoder.encode(train.X) @ encoder.labels.T
    best = np.linalg.norm(np.linalg.svd(whole, compute_uv=False)[3:])
    assert np.linalg.norm(whole - near) < 1.05 * best


def test_it_learns_which_labels_are_right() -> None:
    train, test = known().train, known().test
    found = Landmarks(RegressionConfig(landmarks=40), train.X, train.Y, RUN)
    found.add(train.X, train.Y)
    got, right = _opinions(found.encoder(), test.X), test.Y.toarray() > 0
    assert got[right].mean() > got[~right].mean() + 0.5


def test_opinions_and_their_logs() -> None:
    encoder = _landmarks().encoder()
    labels = np.array([[3, -1, 0]])
    plain, logs = encoder.opinions(encoder.encode(known().test.X[:1]), labels)
    assert plain[0, 1] == 0
    np.testing.assert_allclose(logs, np.log(plain + FAINT), rtol=1e-5)


def test_neighbours_are_searched_from_the_mean() -> None:
    encoder = _landmarks().encoder()
    codes = np.stack([encoder.mean + 1, np.zeros_like(encoder.mean)])
    got = encoder.searched(codes)
    np.testing.assert_allclose(got[0], unit_rows(np.ones_like(codes[:1]))[0], atol=1e-5)
    assert not got[1].any()  # nothing is known of it


def test_a_new_label_is_told_by_its_points() -> None:
    encoder, train = _landmarks().encoder(), known().train
    codes = encoder.encode(train.X)
    mine = train.Y[:, [2]].toarray()
    Y = sp.csr_matrix(np.hstack([train.Y.toarray(), mine]))  # a label that goes with label 2
    extended = encoder.extended(encoder.searched(codes), Y, np.array([train.n_labels]))
    np.testing.assert_array_equal(extended.labels[: train.n_labels], encoder.labels)
    got = extended.opinions(codes, np.full((train.n_points, 1), train.n_labels))[0]
    assert got[mine > 0].mean() > got[mine == 0].mean() + 0.5


def test_labels_that_never_occur_cost_nothing() -> None:
    train = known().train
    occurring = np.unique(train.Y.indices)
    wide = sp.csr_matrix((train.Y.data, train.Y.indices * 1000, train.Y.indptr), shape=(train.n_points, 10**6))
    found = Landmarks(RegressionConfig(landmarks=train.n_points), train.X, wide, RUN, occurring * 1000)
    found.add(train.X, wide)
    assert len(found._hits) == len(occurring)
    encoder, narrow = found.encoder(), _landmarks().encoder()
    asked = np.tile(occurring, (train.n_points, 1))
    one = encoder.opinions(encoder.encode(train.X), asked * 1000)[0]
    np.testing.assert_allclose(one, narrow.opinions(narrow.encode(train.X), asked)[0], atol=0.02)
    assert (encoder.opinions(encoder.encode(train.X), np.full((train.n_points, 1), 17))[0] == 0).all()


def test_numbers_that_are_none_are_refused() -> None:
    train = known().train
    found = Landmarks(RegressionConfig(landmarks=5), train.X, train.Y, RUN)
    found._gram[:] = np.nan
    with pytest.raises(DataError, match="finite"):
        found.encoder()


def test_a_saved_curve_is_the_one_that_was_fitted() -> None:
    encoder = _landmarks(curve=0.109).encoder()
    again = RegressionEncoder.restored(encoder.state(), known().test.n_features, known().test.n_labels, 7)
    np.testing.assert_array_equal(again.encode(known().test.X), encoder.encode(known().test.X))


def test_points_without_words_or_labels_are_no_trouble() -> None:
    X, Y = sp.csr_matrix((3, 4), dtype=np.float32), sp.csr_matrix((3, 2), dtype=np.float32)
    found = Landmarks(RegressionConfig(), X, Y, RUN)
    found.add(X, Y)
    assert np.isfinite(_opinions(found.encoder(), X)).all()


def test_a_saved_encoder_answers_the_same() -> None:
    encoder, test = _landmarks().encoder(), known().test
    again = RegressionEncoder.restored(encoder.state(), test.n_features, test.n_labels, encoder.labels.shape[1])
    np.testing.assert_array_equal(_opinions(again, test.X), _opinions(encoder, test.X))


@pytest.mark.parametrize("array", ["projection", "offsets", "facts", "landmarks.features", "landmarks.indptr"])
def test_a_damaged_encoder_is_refused(array: str) -> None:
    encoder, test = _landmarks().encoder(), known().test
    state = encoder.state()
    state[array] = state[array][:-1] if array != "facts" else np.array([[1, 3e38]], dtype=np.float32)
    with pytest.raises(ModelFileError):
        RegressionEncoder.restored(state, test.n_features, test.n_labels, encoder.labels.shape[1])


def test_kernels_that_are_known_need_not_be_computed() -> None:
    train = known().train
    one, other = (Landmarks(RegressionConfig(landmarks=20), train.X, train.Y, RUN) for _ in range(2))
    near = other.kernel(train.X)
    one.add(train.X, train.Y)
    other.add(train.X, train.Y, near)
    np.testing.assert_array_equal(one.encoder().labels, other.encoder().labels)
    np.testing.assert_allclose(one.encoder().encode(train.X), other.encoder().encode(train.X, near), atol=1e-5)
