"""DXML: targets by hand, both losses and all label vectors learn, new points join without training."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from tests.contract import N_LABELS, QUICK, assert_same, known
from zipfel.errors import ParameterError
from zipfel.graph import Targets
from zipfel.index.choice import VoteRule
from zipfel.methods import Points, make_method
from zipfel.methods.dxml import Dxml, DxmlConfig
from zipfel.metrics import evaluate
from zipfel.nn.perceptron import Perceptron
from zipfel.run import Run
from zipfel.system.threads import use_threads
from zipfel.training import Batch, Batches
from zipfel.training.label_sets import SetTargets

PARAMS = QUICK["dxml"]


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
        {"targets": "unit", "edges": "counts"},
        {"vectors": "ppmi", "networks": 2, "activation": "linear"},
        {"loss": "infonce", "targets": "centred", "vectors": "random", "own_dim": 16, "optimizer": "adam", "lr": 3e-3},
    ],
    ids=["unit", "ppmi", "infonce"],
)
def test_every_variant_learns(params):
    assert p_at_1(fitted(**params), known().test) >= 0.8


def test_identical_label_sets_are_no_negatives():
    Y = sp.csr_matrix(np.array([[1, 1, 0], [1, 0, 0], [1, 1, 0], [0, 0, 1]], np.float32))
    batch = next(Batches(sp.identity(4, format="csr", dtype=np.float32), Y, size=4, seed=0).epoch(0))
    SetTargets(Targets(np.eye(3, dtype=np.float32)))(batch, np.random.default_rng(0))
    np.testing.assert_allclose(batch.extra["targets"][batch.rows.tolist().index(0)], [0.5, 0.5, 0])
    rows = batch.rows.tolist()
    equal = [[{i, j} <= {0, 2} or i == j for j in rows] for i in rows]
    assert batch.extra["same"].tolist() == equal


def test_new_points_vote_without_any_training(plain):
    """Label 6 is never seen in train; after partial_fit the documents that look like the new ones get it."""
    method = make_method("dxml", plain.config.to_dict())
    method.restore(plain.state(), known().train.n_features, N_LABELS)
    X = known().test.X[:8]
    Y = sp.csr_matrix((np.ones(8, np.float32), (np.arange(8), np.full(8, 6))), shape=(8, N_LABELS))
    weights, before = method.embeddings_.parts[0].W1.copy(), len(method.votes_.clusters)
    assert not (method.predict(X, 3).labels == 6).any()
    method.partial_fit(Points(X, Y))
    assert (method.predict(X, 3).labels[:, 0] == 6).all()
    assert (weights == method.embeddings_.parts[0].W1).all()
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
    vectors = method._label_vectors(known().train.Y, Run(seed=1))
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    assert vectors.shape == (N_LABELS, PARAMS["dim"])
    assert unit[0] @ unit[1] > unit[0] @ unit[4]
    assert unit[4] @ unit[5] > unit[0] @ unit[4]


def test_several_clusters_are_searched_where_one_is_not_enough():
    method = fitted(clusters=8, probes=None)
    assert method.votes_.clusters.n_clusters == 8
    assert 1 <= method.votes_.probes <= 8
    assert p_at_1(method, known().test) >= 0.8
    one = fitted(clusters=8, probes=1, n_neighbors=5, sharpness=10)
    assert (one.votes_.probes, one.votes_.rule) == (1, VoteRule(5, 10.0))


def test_side_by_side_or_one_after_the_other_the_networks_are_the_same() -> None:
    """Dropout too is drawn by each for itself."""
    found = []
    for threads in (1, 2):
        method = make_method("dxml", {**QUICK["dxml"], "networks": 2, "dropout": 0.3})
        with use_threads(threads):
            method.fit(known().train, None, Run(seed=3, threads=threads))
        found.append(method.predict(known().test.X, 4))
    assert_same(*found)


def test_the_objective_is_equation_3():
    """One number of two codes is 0.2 apart, one 3: 0.5 * 0.2^2 + 3 - 0.5, halved by the second row, which is met."""
    batch = Batch(np.arange(2), None, None, (0,), extra={"targets": torch.tensor([[0.8, 0.0], [0.0, 1.0]])})
    loss = Dxml.objective(DxmlConfig(), batch, torch.tensor([[1.0, 3.0], [0.0, 1.0]]))
    assert float(loss) == pytest.approx((0.5 * 0.2**2 + 3 - 0.5) / 2)


def test_the_network_is_figure_1():
    """L2-norm(W2 relu(W1 x + b1) + b2) by hand; in training each number is kept or dropped."""
    network = Perceptron(2, 2, True, 0.5, np.random.default_rng(0))
    with torch.no_grad():
        network.W2.copy_(torch.tensor([[3.0, 4.0], [5.0, 5.0]]))
    sums = torch.tensor([[2.0, -1.0]])  # the second unit is off
    torch.testing.assert_close(network(sums).detach(), torch.tensor([[0.6, 0.8]]))
    draws = (network(sums, torch.Generator().manual_seed(seed)).detach()[0] for seed in range(30))
    assert {(round(float(a), 3), round(float(b), 3)) for a, b in draws} == {(0.6, 0.8), (1, 0), (0, 1), (0, 0)}


def test_a_document_without_a_known_feature_gets_the_most_frequent_labels(plain):
    unseen = sp.csr_matrix(([1.0], ([0], [known().train.n_features - 1])), shape=(1, known().train.n_features))
    assert plain.predict(unseen.astype(np.float32), 1).labels[0, 0] == np.argmax(plain.priors_)


def test_the_papers_preset_is_section_4_1():
    c = make_method("dxml", preset="paper").config
    assert (c.optimizer, c.lr, c.momentum, c.decay) == ("sgd", 0.015, 0.9, 5e-4)
    assert (c.loss, c.targets, c.hidden, c.dim, c.dropout) == ("smooth_l1", "plain", 256, 100, 0.5)
    assert (c.probes, c.sharpness, c.networks, c.keep, c.own_dim) == (1, 0, 1, 1, 0)


@pytest.mark.parametrize(
    ("preset", "expected"),
    [("bibtex", (256, 100, "plain")), ("amazon", (512, 300, "plain")), ("delicious-large", (512, 300, "counts"))],
)
def test_presets_of_the_papers_data_sets(preset, expected):
    c = make_method("dxml", preset=preset).config
    assert (c.hidden, c.dim, c.edges) == expected


def test_options_that_are_gone_name_what_to_use_instead():
    with pytest.raises(ParameterError, match="always trained again"):
        make_method("dxml", {"refit": False})


def test_prediction_is_algorithm_2_point_by_point():
    """Eq. 4's cluster, k neighbours in it by distance, their labels averaged."""
    method = fitted(clusters=3, n_neighbors=4)
    codes = method.embeddings_.codes(known().test.X)
    clusters, Y = method.votes_.clusters, method.votes_.Y.toarray()
    mine = np.array([np.argmin(np.linalg.norm(clusters.centres - code, axis=1)) for code in clusters.vectors])
    votes = np.zeros((len(codes), N_LABELS))
    for row, code in enumerate(codes):
        points = np.flatnonzero(mine == np.argmin(np.linalg.norm(clusters.centres - code, axis=1)))
        near = points[np.argsort(np.linalg.norm(clusters.vectors[points] - code, axis=1), kind="stable")[:4]]
        votes[row] = Y[near].mean(axis=0)
    ranking = method.predict(known().test.X, 1)
    np.testing.assert_allclose(ranking.scores[:, 0], votes.max(axis=1), rtol=1e-5)
    np.testing.assert_allclose(votes[np.arange(len(codes)), ranking.labels[:, 0]], votes.max(axis=1), rtol=1e-5)
