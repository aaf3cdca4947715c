"""The re-ranker: what it adds to the first ones, by hand, and that it leaves the first network as it was."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from zipfel.nn.classifier_network import ClassifierNetwork
from zipfel.nn.encoder import ResidualEncoder
from zipfel.training.reranker import Reranker


def _network() -> ClassifierNetwork:
    """Two tokens in two dimensions, R = 0: the logit of label j is w_j0 times the row's first number, plus w_j1."""
    encoder = ResidualEncoder(2, 0.0, torch.Generator())
    torch.nn.init.zeros_(encoder.residual.weight)
    classifiers = np.array([[0, 2], [1, 0], [5, 0], [-1, 0]], dtype=np.float32)
    return ClassifierNetwork(np.eye(2, dtype=np.float32), encoder, classifiers)


@pytest.mark.parametrize("places", [None, np.array([[3, 0, 1, -1]])])
def test_the_first_ones_get_gamma_times_their_sigmoid_and_pads_stay_out(places: np.ndarray | None) -> None:
    X = sp.csr_matrix(np.array([[3, 1]], dtype=np.float32))
    scores = np.array([[0.9, 0.2, 0.8, -np.inf]], dtype=np.float32)
    found = Reranker(_network(), 2).joined(X, places, scores, 0.25)
    logits = [2, 15] if places is None else [-3, 3]  # of the first and the third column
    first, third = (1 / (1 + np.exp(-z)) for z in logits)
    expected = [[0.675 + 0.25 * first, 0.15, 0.6 + 0.25 * third, -np.inf]]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
