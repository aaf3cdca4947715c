"""Step 2 of LightDXML on data where the answer is known."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from zipfel.nn.encoder import LabelEncoder
from zipfel.run import Run
from zipfel.training.label_codes import centroids, embed_labels, equation_2, spread


def _points() -> tuple[np.ndarray, sp.csr_matrix]:
    rng = np.random.default_rng(0)
    label = rng.integers(0, 3, 90)
    hidden = (4 * np.eye(3, 5)[label] + 0.1 * rng.standard_normal((90, 5))).astype(np.float32)
    return hidden, sp.csr_matrix((np.ones(90, np.float32), (np.arange(90), label)), shape=(90, 4))


@pytest.mark.parametrize("relu", [False, True])
def test_codes_start_at_the_centroids_and_training_keeps_labels_apart(relu: bool) -> None:
    hidden, Y = _points()
    start, _ = _embed(relu, "identity", 0)
    centroids = np.asarray(Y.T @ hidden)[:3] / np.bincount(Y.indices)[:, None]
    assert np.allclose(start[:3], np.maximum(centroids, 0) if relu else centroids, atol=1e-4)
    trained, _ = _embed(relu, "identity", 3)
    nearest = np.linalg.norm(hidden[:, None] - trained[None, :3], axis=2).argmin(axis=1)
    assert np.array_equal(nearest, Y.indices)
    assert np.array_equal(trained, _embed(relu, "identity", 3)[0])


def test_equation_2_falls_from_a_random_start() -> None:
    _, losses = _embed(False, "random", 60)
    assert losses[1] < 0.5 * losses[0]


def test_centroids_are_equation_5() -> None:
    points = np.array([[1.0, 0.0], [0.0, 2.0], [4.0, 4.0]], dtype=np.float32)
    Y = sp.csr_matrix(np.array([[1, 1, 0, 0], [0, 1, 0, 0], [0, 1, 1, 0]], dtype=np.float32))
    by_hand = [[1, 0], [5 / 3, 2], [4, 4], [0, 0]]  # the last label has no point
    np.testing.assert_allclose(centroids(points, Y), by_hand, rtol=1e-6)


def test_equation_2_by_hand() -> None:
    hidden = np.array([[1.0, 0.0], [0.0, 2.0]], dtype=np.float32)
    Y = sp.csr_matrix(np.array([[1, 1], [0, 1]], dtype=np.float32))
    codes = np.array([[1.0, 1.0], [0.0, 0.0]], dtype=np.float32)
    by_hand = (np.log(1 + 1) + np.log(1 + 1) + np.log(1 + 4)) / 2
    assert equation_2(hidden, codes, Y) == pytest.approx(by_hand)


def _embed(relu: bool, start: str, epochs: int) -> tuple[np.ndarray, list[float]]:
    hidden, Y = _points()
    encoder = LabelEncoder(5, relu=relu, start=start, generator=torch.Generator().manual_seed(0))
    return embed_labels(encoder, hidden, Y, epochs=epochs, lr=1e-2, run=Run(seed=0), cycle=0)


def test_spread_tells_collapse() -> None:
    assert spread(np.ones((5, 3), dtype=np.float32)) == pytest.approx(0, abs=1e-6)
    assert spread(np.eye(4, dtype=np.float32)) == pytest.approx(0.5, abs=1e-6)
