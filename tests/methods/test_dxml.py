"""DXML: targets by hand, both losses and all label vectors learn, new points join without training."""

import numpy as np
import pytest
import scipy.sparse as sp

from tests.contract import N_LABELS, QUICK, assert_same, known
from zipfel.graph import Targets
from zipfel.index.choice import VoteRule
from zipfel.methods import Points, make_method
from zipfel.methods.dxml import Dxml
from zipfel.metrics import evaluate
from zipfel.run import Run
from zipfel.threads import use_threads
from zipfel.training import Batches

PARAMS = {**QUICK["dxml"], "epochs": 4}


def fitted(run=None, **params):
    method = make_method("dxml", {**PARAMS, **params})
    method.fit(known().train, None, run or Run(seed=1, threads=1))
    return method


def p_at_1(method, points):
    return evaluate(method.predict(points.X, 1), points.Y, ks=(1,))["P@1"]


@pytest.fixture(scope="module")
def plain():
    return fitted(n_neighbors=1)


@pytest.mark.parametrize(
    "params",
    [
        {"loss": "smooth_l1", "targets": "unit", "own_dim": 0},
        {"vectors": "ppmi", "networks": 2},
        {"vectors": "random", "activation": "auto", "edges": "plain", "dropout": 0.2},
    ],
    ids=["smooth_l1", "ppmi", "random"],
)
def test_every_variant_learns(params):
    assert p_at_1(fitted(**params), known().test) >= 0.8


def test_identical_label_sets_are_no_negatives():
    Y = sp.csr_matrix(np.array([[1, 1, 0], [1, 0, 0], [1, 1, 0], [0, 0, 1]], np.float32))
    batch = next(Batches(sp.identity(4, format="csr", dtype=np.float32), Y, size=4, seed=0).epoch(0))
    Dxml._extend(batch, Targets(np.eye(3, dtype=np.float32)))
    rows = batch.rows.tolist()
    equal = [[{i, j} <= {0, 2} or i == j for j in rows] for i in rows]
    assert batch.extra["same"].tolist() == equal


def test_new_points_vote_without_any_training(plain):
    """Label 6 is never seen in train; after partial_fit the documents that look like the new ones get it."""
    method = make_method("dxml", plain.config.to_dict())
    method.restore(plain.state(), known().train.n_features, N_LABELS)
    X = known().test.X[:8]
    Y = sp.csr_matrix((np.ones(8, np.float32), (np.arange(8), np.full(8, 6))), shape=(8, N_LABELS))
    weights, before = method.embeddings_[0].W1.copy(), len(method.votes_.clusters)
    assert not (method.predict(X, 3).labels == 6).any()
    method.partial_fit(Points(X, Y))
    assert (method.predict(X, 3).labels[:, 0] == 6).all()
    assert (weights == method.embeddings_[0].W1).all()
    assert len(method.votes_.clusters) == before + 8
    again = make_method("dxml", plain.config.to_dict())
    again.restore(method.state(), known().train.n_features, N_LABELS)
    np.testing.assert_array_equal(again.predict(X, 3).labels, method.predict(X, 3).labels)


def test_points_without_labels_are_not_added(plain):
    before = len(plain.votes_.clusters)
    plain.partial_fit(Points(known().test.X[:2], sp.csr_matrix((2, N_LABELS), dtype=np.float32)))
    assert len(plain.votes_.clusters) == before


def test_a_hierarchy_file_takes_the_place_of_the_label_graph(tmp_path):
    (tmp_path / "tree.txt").write_text("root 0\nroot 1\nroot 2\n3 4\n3 5\n")
    method = make_method("dxml", {**PARAMS, "hierarchy": str(tmp_path / "tree.txt"), "walks": 200})
    vectors = method._graph_vectors(known().train.Y, seed=1)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    assert vectors.shape == (N_LABELS, PARAMS["dim"])
    assert unit[0] @ unit[1] > unit[0] @ unit[4]
    assert unit[4] @ unit[5] > unit[0] @ unit[4]


def test_several_clusters_are_searched_where_one_is_not_enough():
    method = fitted(clusters=8)
    assert method.votes_.clusters.n_clusters == 8
    assert 1 <= method.votes_.probes <= 8
    assert p_at_1(method, known().test) >= 0.8
    one = fitted(clusters=8, probes=1, n_neighbors=5, sharpness=10)
    assert (one.votes_.probes, one.votes_.rule) == (1, VoteRule(5, 10.0))


def test_side_by_side_or_one_after_the_other_the_networks_are_the_same() -> None:
    """Dropout too is drawn by each for itself."""
    found = []
    for threads in (1, 2):
        method = make_method("dxml", {**QUICK["dxml"], "networks": 2, "activation": "auto", "dropout": 0.3})
        with use_threads(threads):
            method.fit(known().train, None, Run(seed=3, threads=threads))
        found.append(method.predict(known().test.X, 4))
    assert_same(*found)
