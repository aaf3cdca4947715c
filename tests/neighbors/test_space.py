"""Neighbours in the space of codes against a plain count."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.errors import ModelFileError
from zipfel.index.base import unit_rows
from zipfel.neighbors.label_sets import Encoder
from zipfel.neighbors.regression import Kernel, RegressionEncoder
from zipfel.neighbors.space import PointCodes, Space
from zipfel.neighbors.words import WordIndex


def _point_codes(voters: np.ndarray | None = None) -> tuple[PointCodes, np.ndarray]:
    rng = np.random.default_rng(0)
    Y = sp.csr_matrix((rng.random((50, 8)) < 0.3).astype(np.float32))
    encoder = Encoder(rng.standard_normal((5, 6)).astype(np.float32), rng.standard_normal((8, 6)).astype(np.float32))
    points = unit_rows(rng.standard_normal((50, 6)).astype(np.float32))
    return PointCodes(encoder, points, Y, np.diff(Y.indptr) > 0 if voters is None else voters), points


def test_neighbours_have_the_largest_mean_of_both_cosines() -> None:
    memory, points = _point_codes()
    ids, weights = memory.search(points[:4], 7)
    assert memory.sets is not None
    mean = (points[:4] @ points.T + points[:4] @ memory.sets.T) / 2
    mean[:, np.setdiff1d(np.arange(50), memory.voters)] = -np.inf
    found = np.take_along_axis(mean, ids, axis=1)
    np.testing.assert_allclose(found, -np.sort(-mean, axis=1)[:, :7], atol=0.01)  # a byte a number
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-5)


def test_only_voters_are_found() -> None:
    memory, points = _point_codes(np.arange(50) % 2 == 0)
    ids, _ = memory.search(points[:5], 30)
    assert (ids[ids >= 0] % 2 == 0).all()
    assert ((ids >= 0).sum(axis=1) == 25).all()


def test_without_label_sets_points_alone_are_searched() -> None:
    rng = np.random.default_rng(0)
    Y = sp.csr_matrix(np.ones((20, 1), dtype=np.float32))
    points = unit_rows(rng.standard_normal((20, 6)).astype(np.float32))
    kernel, zeros = Kernel(WordIndex.whole(sp.csr_matrix(points[:5])), 0.0), np.zeros(6, dtype=np.float32)
    encoder = RegressionEncoder(kernel, points[:5], points[:1], zeros[:1], zeros, 1.0)
    ids, weights = PointCodes(encoder, points, Y, np.ones(20, dtype=bool)).search(points[:3], 4)
    cosines = points[:3] @ points.T
    found = np.take_along_axis(cosines, ids, axis=1)
    np.testing.assert_allclose(found, -np.sort(-cosines, axis=1)[:, :4], atol=0.01)
    assert weights.shape == (3, 4, len(encoder.VOTES))
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-5)


def _space() -> tuple[Space, sp.csr_matrix, sp.csr_matrix]:
    rng = np.random.default_rng(3)
    X = sp.csr_matrix(rng.random((30, 5)).astype(np.float32))
    Y = sp.csr_matrix((rng.random((30, 8)) < 0.3).astype(np.float32))
    tables = (rng.standard_normal((n, 6)).astype(np.float32) for n in (5, 8))
    encoder = Encoder(*tables)
    saved = Space.build(encoder, encoder.encode(X), Y, np.ones(30, dtype=bool)).state()
    return Space.restored(Encoder, saved, Y, 5), X, Y


def test_a_point_that_joins_a_space_is_found_there() -> None:
    space, X, Y = _space()
    wider = sp.csr_matrix(
        sp.vstack([sp.hstack([Y, np.zeros((30, 1))]), sp.csr_matrix(np.eye(1, 9, 8))]), dtype=np.float32
    )
    more = space.joined(space.encoder.encode(X[:1]), wider, np.array([8]))
    ids, _ = more.search(more.encoder.encode(X[:1]), 30)
    assert 30 in ids[0]
    assert more.encoder.labels.shape == (9, 6)
    np.testing.assert_array_equal(more.points.codes[:30], space.points.codes)


@pytest.mark.parametrize("codes", [None, np.zeros((), np.int8), np.zeros(30, np.int8), np.zeros((29, 6), np.int8)])
def test_damaged_codes_are_refused(codes: np.ndarray | None) -> None:
    space, _, Y = _space()
    kept = {name: array for name, array in space.state().items() if name != "codes"}
    with pytest.raises(ModelFileError):
        Space.restored(Encoder, kept if codes is None else {**kept, "codes": codes}, Y, 5)
