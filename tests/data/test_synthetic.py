from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.data import split, stats, synth
from zipfel.errors import ParameterError


def test_it_has_the_size_and_shape_that_was_asked_for() -> None:
    dataset = synth(3000, 5000, 800, features_per_point=40, labels_per_point=3)
    found = stats(dataset)
    assert (found.n_points, found.n_features, found.n_labels) == (3000, 5000, 800)
    assert found.features_a_point == pytest.approx(40, rel=0.1)
    assert found.labels_a_point == pytest.approx(3, rel=0.1)
    assert found.rows_without_labels == found.rows_without_features == 0
    assert dataset.X is not None
    assert dataset.X.has_canonical_format
    assert set(dataset.Y.data.tolist()) == {1.0}


def test_few_labels_have_most_points() -> None:
    counts = np.sort(synth(3000, 5000, 2000).label_counts())[::-1]
    assert counts[:100].sum() > 0.3 * counts.sum()
    assert (counts <= 5).mean() > 0.4


def test_the_same_seed_gives_the_same_data() -> None:
    assert synth(200, 300, 50).fingerprint() == synth(200, 300, 50).fingerprint()
    assert synth(200, 300, 50).fingerprint() != synth(200, 300, 50, seed=1).fingerprint()


def test_blocks_are_drawn_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zipfel.data.synthetic._BLOCK", 64)
    dataset = synth(200, 3000, 500)
    assert dataset.n_points == 200
    assert dataset.X is not None
    assert (dataset.X[:64] != dataset.X[64:128]).nnz > 0


def test_labels_can_be_learned_from_features() -> None:
    """The nearest neighbour's labels beat the most popular one by far."""
    train, test = split(synth(4000, 5000, 300, features_per_point=50, labels_per_point=3), 0.1)
    assert train.X is not None
    assert test.X is not None
    similarity = (_unit(test.X) @ _unit(train.X).T).toarray()
    neighbour = train.Y[similarity.argmax(axis=1)]
    shared = neighbour.multiply(test.Y).sum() / neighbour.sum()
    popular = test.Y[:, train.label_counts().argmax()].mean()
    assert shared > max(0.4, 2 * popular)


def _unit(X: sp.csr_matrix) -> sp.csr_matrix:
    return sp.diags(1 / np.sqrt(X.multiply(X).sum(axis=1)).A1) @ X


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 10, 10), "n_points"),
        ((10, 10**12, 10), "n_features"),
        ((10, 100, 3), "labels_per_point"),
        ((10, 20, 30), "features_per_point"),
    ],
)
def test_sizes_that_make_no_sense(arguments: tuple[int, int, int], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        synth(*arguments)
