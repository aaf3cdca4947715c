"""MNN's codes by hand: a mean whose length does not matter, blocks whose cosines are averaged."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from zipfel.nn.averaging import Encoders, unit_codes
from zipfel.nn.bag import LocalRows


def test_dropping_a_feature_changes_the_mean_and_lengths_cancel() -> None:
    vectors = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
    encoders = Encoders(vectors, vectors, 4)
    whole = sp.csr_matrix(np.array([[1, 1, 0]], dtype=np.float32))
    np.testing.assert_allclose(encoders.points(whole), encoders.points(whole * 7), rtol=1e-5)
    kept = sp.csr_matrix(np.array([[1, 0, 0]], dtype=np.float32))
    np.testing.assert_allclose(encoders.points(kept)[0], vectors[0] / np.linalg.norm(vectors[0]), rtol=1e-5)


def test_blocks_are_encoders_whose_cosines_are_averaged() -> None:
    rng = np.random.default_rng(0)
    W_x, W_y = rng.standard_normal((2, 5, 6)).astype(np.float32)
    both = Encoders(W_x, W_y, 3)
    row = sp.csr_matrix(np.array([[1, 0, 1, 0, 1]], dtype=np.float32))
    parts = [Encoders(W_x[:, s], W_y[:, s], 3) for s in (slice(0, 3), slice(3, 6))]
    cosines = [float(p.points(row)[0] @ p.sets(row)[0]) for p in parts]
    assert float(both.points(row)[0] @ both.sets(row)[0]) == pytest.approx(np.mean(cosines), rel=1e-5)


def test_training_and_prediction_encode_alike() -> None:
    rng = np.random.default_rng(1)
    vectors = rng.standard_normal((6, 8)).astype(np.float32)
    X = sp.random(5, 6, density=0.6, format="csr", dtype=np.float32, random_state=0)
    rows = LocalRows.from_csr(X)
    codes = unit_codes(torch.from_numpy(vectors)[rows.ids], rows, 4)
    np.testing.assert_allclose(codes[1].numpy(), Encoders(vectors[:, 4:], vectors[:, 4:], 4).points(X), atol=1e-6)
