"""Astec beside LightDXML's section II: clusters, frozen features, shortlists, negatives, the bound of R, re-ranker."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from tests.contract import N_LABELS, QUICK, SEEN, fit, known, quick_run
from zipfel.methods import Points, make_method
from zipfel.methods.astec import Astec, AstecConfig
from zipfel.metrics import evaluate
from zipfel.nn.encoder import ResidualEncoder
from zipfel.training import two_searches
from zipfel.training.two_searches import NeighbourLabels, TwoSearches


def fitted(**params: object) -> Astec:
    method = fit("astec", known().train, params=params)
    assert isinstance(method, Astec)
    return method


def p_at_1(method: Astec) -> float:
    return evaluate(method.predict(known().test.X, 1), known().test.Y, ks=(1,))["P@1"]


def test_the_shortlist_is_log_l_and_500_at_most() -> None:
    assert [AstecConfig().k(n) for n in (6, 983, 20_000, 670_000)] == [6, 413, 500, 500]


def test_clusters_are_balanced_and_a_point_is_in_those_of_its_labels() -> None:
    method = make_method("astec", {**QUICK["astec"], "clusters": 2})
    assert isinstance(method, Astec)
    rng = np.random.default_rng(0)
    dense = np.eye(6, dtype=np.float32)[[0, 1, 2, 3, 4, 5, 0]]
    dense[6, 3] = 1
    Y = sp.csr_matrix(dense)
    points = rng.standard_normal((7, 5)).astype(np.float32)
    clusters = method._clusters(points, Y, rng).toarray()
    assert clusters[:6].sum(axis=0).tolist() == [3, 3]
    assert clusters[6].tolist() == np.maximum(clusters[0], clusters[3]).tolist()


def test_features_are_frozen_after_module_1(monkeypatch: pytest.MonkeyPatch) -> None:
    before: list[np.ndarray] = []
    learn = Astec._learn_features

    def spy(self, train: Points, run):  # type: ignore[no-untyped-def]
        found = learn(self, train, run)
        before.append(found.first(known().test.X))
        return found

    monkeypatch.setattr(Astec, "_learn_features", spy)
    method = fitted()
    np.testing.assert_array_equal(before[0], method.network_.first(known().test.X))
    assert method.reranker_ is not None
    assert not np.allclose(before[0], method.reranker_.network.first(known().test.X))


def test_the_objective_is_bce_on_positives_shortlist_and_drawn_labels() -> None:
    method = make_method("astec", {**QUICK["astec"], "dim": 4, "batch": 9})
    assert isinstance(method, Astec)
    train, rng = known().train, np.random.default_rng(0)
    shortlists = rng.integers(0, N_LABELS, (train.n_points, 2)).astype(np.int32)
    batch = next(iter(method._batches(train, shortlists, 1, quick_run()).epoch(0)))
    pairs = batch.extra["pairs"]
    for i, row in enumerate(batch.rows):
        mine = pairs.ids.numpy()[pairs.columns[pairs.ends[i] : pairs.ends[i + 1]]]
        positives = set(train.Y[row].indices)
        assert positives | set(shortlists[row]) <= set(mine)
        assert len(set(mine)) == len(mine) <= len(positives) + 3
    x = torch.from_numpy(rng.standard_normal((9, 4)).astype(np.float32))
    W = rng.standard_normal((N_LABELS, 4)).astype(np.float32)
    found = float(method.objective(x, batch, {"labels": torch.from_numpy(W[pairs.ids.numpy()])}))
    total = 0.0
    for i, column, true in zip(pairs.row_of, pairs.ids.numpy()[pairs.columns], pairs.truth.numpy(), strict=True):
        z = float(x[i, :-1].numpy() @ W[column, :-1] + W[column, -1])
        total += math.log1p(math.exp(-z if true else z))
    assert found == pytest.approx(total / 9, rel=1e-5)


def test_r_has_no_larger_singular_value_than_the_bound() -> None:
    encoder = ResidualEncoder(8, 0.0, torch.Generator().manual_seed(0), relu=True, bound=0.5)
    torch.nn.init.normal_(encoder.residual.weight, generator=torch.Generator().manual_seed(1))
    encoder.train()
    for _ in range(200):
        encoder(torch.zeros(1, 8))
    assert float(torch.linalg.matrix_norm(encoder.residual.bounded_weight().detach(), 2)) == pytest.approx(
        0.5, rel=1e-3
    )
    with torch.no_grad():
        encoder.residual.weight.mul_(1e-3)
    encoder.eval()
    torch.testing.assert_close(encoder.residual.bounded_weight(), encoder.residual.weight)


def test_shortlists_join_centroids_and_neighbours_labels_without_a_point_voting_for_itself() -> None:
    v = np.eye(5, dtype=np.float32)[[0, 0, 1, 2, 3]]
    Y = sp.csr_matrix(np.eye(5, dtype=np.float32)[[0, 1, 2, 3, 4]])
    near = NeighbourLabels.of(v, Y, kind="exact", k=1, precision="float32", seed=0)
    assert near.labels(v[:2], 1, 1, first=0).tolist() == [[1], [0]]
    assert near.labels(v[1:2], 1, 1, first=1).tolist() == [[0]]
    assert near.labels(v[2:3], 1, 1).tolist() == [[2]]
    searches = TwoSearches.of(v, Y, 4, 2, kind="exact", precision="float32", seed=0)
    found = searches.shortlist(v[:1])
    assert found is not None
    assert found.shape == (1, 4)
    assert sorted(found[found >= 0]) == [0, 1]
    assert TwoSearches.of(v, Y, 5, 2, kind="exact", precision="float32", seed=0).shortlist(v) is None


def test_training_points_are_searched_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    v, Y = rng.standard_normal((11, 5)).astype(np.float32), sp.csr_matrix(np.eye(11, dtype=np.float32))
    searches = TwoSearches.of(v, Y, 6, 3, kind="exact", precision="float32", seed=0)
    whole = searches.of_train(v)
    monkeypatch.setattr(two_searches, "_BLOCK", 4)
    np.testing.assert_array_equal(searches.of_train(v), whole)
    assert all(row not in searches.near.labels(v[row : row + 1], 3, 3, first=row) for row in range(11))
    found = searches.shortlist(v)
    assert found is not None
    assert found.shape == (11, 6)


@pytest.mark.parametrize(
    "params",
    [
        {"shortlist": 4, "neighbors": 10},
        {"shortlist": 4, "neighbors": 10, "index": "hnsw", "precision": "int8"},
        {"shortlist": 4, "neighbors": 0},
        {"ranker_epochs": 0},
        {"beta": 1.0, "gamma": 0.5, "mistakes": 3},
    ],
)
def test_every_variant_learns_the_known_answer_and_is_saved(params: dict[str, object]) -> None:
    method = fitted(**params)
    assert p_at_1(method) >= 0.85
    again = make_method("astec", method.config.to_dict())
    again.restore(method.state(), known().train.n_features, N_LABELS)
    X = known().test.X
    np.testing.assert_array_equal(again.predict(X, SEEN).labels, method.predict(X, SEEN).labels)


def test_the_reranker_decides_among_what_module_4_ranks_first() -> None:
    method = fitted(gamma=1.0, beta=1.0, mistakes=2)
    X = known().test.X
    reranked, plain = method.predict(X, 2), fitted(gamma=0.0, beta=1.0, mistakes=2).predict(X, 2)
    np.testing.assert_array_equal(np.sort(reranked.labels), np.sort(plain.labels))
    assert method.predict(X, 4).labels[:, 3].min() >= 0  # the others follow


def test_a_prediction_is_the_blend_of_classifiers_centroids_and_reranker() -> None:
    """(1 - gamma) (beta s(w . x) + (1 - beta) s(cos(v, mu))) + gamma s(u . z), by numpy alone."""
    method, X = fitted(beta=0.7, gamma=0.4, mistakes=6), known().test.X
    found, saved = method.predict(X, SEEN), method.state().arrays

    def sigmoid(z: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(-z))

    def network(name: str) -> tuple[np.ndarray, np.ndarray]:
        """v, and the logits of all labels."""
        v = np.maximum(X.toarray() @ saved[f"{name}.tokens"] + saved[f"{name}.encoder.bias"], 0)
        R, left = saved[f"{name}.encoder.residual.weight"], saved[f"{name}.encoder.residual.left"]
        right = R.T @ left / np.linalg.norm(R.T @ left)
        R = R / max(1, left @ R @ right)  # its largest singular value is 1 at most
        x, w = v + np.maximum(v @ R.T + saved[f"{name}.encoder.residual.bias"], 0), saved[f"{name}.classifiers"]
        return v, x[:, :-1] @ w[:, :-1].T + w[:, -1]

    (v, logits), (_, reranked) = network("network"), network("reranker")
    mu = saved["labels.units"]
    cosines = v @ mu.T / np.linalg.norm(v, axis=1)[:, None]
    scores = 0.6 * (0.7 * sigmoid(logits) + 0.3 * sigmoid(cosines)) + 0.4 * sigmoid(reranked)
    for row in np.flatnonzero(np.diff(X.indptr)):
        expected = np.argsort(-scores[row])
        assert found.labels[row].tolist() == saved["labels"][expected].tolist()
        np.testing.assert_allclose(found.scores[row], scores[row, expected], rtol=1e-4)


def test_seconds_of_each_module_are_kept() -> None:
    run = quick_run()
    fit("astec", known().train, run=run)
    names = ["module 1: features", "module 2: shortlists", "modules 3, 4: classifiers", "re-ranker", "beta, gamma"]
    assert list(run.timings) == names
