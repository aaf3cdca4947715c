"""Step 2 of LightDXML on data where the answer is known."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.nn.encoder import LabelEncoder
from zipfel.nn.table import Table
from zipfel.run import Run
from zipfel.training.label_codes import embed_labels, spread, start_classifiers


def _points() -> tuple[np.ndarray, sp.csr_matrix]:
    rng = np.random.default_rng(0)
    label = rng.integers(0, 3, 90)
    hidden = (4 * np.eye(3, 5)[label] + 0.1 * rng.standard_normal((90, 5))).astype(np.float32)
    return hidden, sp.csr_matrix((np.ones(90, np.float32), (np.arange(90), label)), shape=(90, 4))


@pytest.mark.parametrize("relu", [False, True])
def test_codes_start_at_the_centroids_and_training_keeps_labels_apart(relu: bool) -> None:
    hidden, Y = _points()
    encoder = LabelEncoder(5, relu=relu)
    start = embed_labels(encoder, hidden, Y, 0, Run(seed=0), 0)
    centroids = np.asarray(Y.T @ hidden)[:3] / np.bincount(Y.indices)[:, None]
    assert np.allclose(start[:3], np.maximum(centroids, 0) if relu else centroids, atol=1e-4)
    trained = embed_labels(encoder, hidden, Y, 3, Run(seed=0), 0)
    nearest = np.linalg.norm(hidden[:, None] - trained[None, :3], axis=2).argmin(axis=1)
    assert np.array_equal(nearest, Y.indices)
    assert np.array_equal(trained, embed_labels(_again(relu), hidden, Y, 3, Run(seed=0), 0))


def _again(relu: bool) -> LabelEncoder:
    return LabelEncoder(5, relu=relu)


def test_spread_tells_collapse() -> None:
    assert spread(np.ones((5, 3), dtype=np.float32)) == pytest.approx(0, abs=1e-6)
    assert spread(np.eye(4, dtype=np.float32)) == pytest.approx(0.5, abs=1e-6)


def test_classifiers_start_along_their_codes_with_their_bias_at_the_mean() -> None:
    table = Table(np.array([[0, 0, -2.0], [0, 0, -3.0]], dtype=np.float32))
    mean = np.array([1.0, 1.0, 0.0], dtype=np.float32)
    start_classifiers(table, np.array([[3.0, 1.0, 0.0], [1.0, 5.0, 0.0]], dtype=np.float32), mean, 2.0)
    weights = table.numpy()
    assert weights[:, :2].tolist() == [[2.0, 0.0], [0.0, 2.0]]
    assert (weights[:, :2] @ mean[:2] + weights[:, 2]).tolist() == [-2.0, -3.0]
