"""GLaS beside Algorithm 2, and its edges; the contract suite has the rest."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from tests.contract import QUICK, known
from zipfel.errors import ParameterError
from zipfel.methods import Points, make_method
from zipfel.methods.glas import Glas, GlasConfig
from zipfel.metrics import evaluate
from zipfel.run import Run
from zipfel.system.threads import use_threads
from zipfel.training import Batch


def make(**params: object) -> Glas:
    method = make_method("glas", {**QUICK["glas"], **params})
    assert isinstance(method, Glas)
    return method


def fitted(train: Points | None = None, valid: Points | None = None, **params: object) -> Glas:
    method = make(**params)
    with use_threads(1):
        method.fit(train or known().train, valid or known().valid, Run(seed=1, threads=1))
    return method


def p_at_1(method: Glas) -> float:
    return evaluate(method.predict(known().test.X, 1), known().test.Y, ks=(1,))["P@1"]


def first_step(method: Glas, train: Points) -> tuple[float, np.ndarray, np.ndarray, Batch]:
    """(loss of the first batch, its scores, its label vectors of unit length, the batch)."""
    method.loss_ = method.config.loss_for(1.5)
    batches, tables = method._batches(train, Run(seed=1)), method._tables(train, Run(seed=1))
    batch = next(iter(batches.epoch(0)))
    rows = {name: table.rows(batch.ids[name]) for name, table in tables.items()}
    loss = float(method.objective(batch, rows).detach())
    V = torch.nn.functional.normalize(rows["labels"], dim=1).detach().numpy()
    codes = method.encoder_.codes(train.X[batch.rows] @ tables["features"].numpy())
    return loss, method.config.length * codes @ V.T, V, batch


def equation_3(train: Points, V: np.ndarray, batch: Batch) -> float:
    """Of the B drawn labels, with those that were drawn twice, by the (B, B) matrices of the paper."""
    assert batch.candidates is not None
    one = batch.extra["one"].numpy()
    labels = batch.candidates.labels.numpy()[one]
    A = (train.Y.T @ train.Y).toarray().astype(np.float64)
    count = np.diag(A)[labels]
    U = 0.5 * (A[np.ix_(labels, labels)] / count + A[np.ix_(labels, labels)] / count[:, None])
    return float(((V[one] @ V[one].T - U) ** 2).sum() / len(one) ** 2)


def test_the_objective_is_equation_1_of_the_drawn_labels_plus_lambda_times_equation_3() -> None:
    train = known().train
    method = make(keep=1.0, sampled=None, weight=7.0, batch=500, loss="margin", margin=2.0)
    loss, scores, V, batch = first_step(method, train)
    assert batch.candidates is not None
    one, truth = batch.extra["one"].numpy(), batch.Y[:, batch.candidates.labels.numpy()].toarray() > 0
    assert truth[np.arange(len(one)), one].all()
    gaps = np.maximum(scores - scores[np.arange(len(one)), one][:, None] + 2.0, 0) * ~truth
    margin = gaps.sum(axis=1).mean()
    assert loss == pytest.approx(margin + 7.0 * equation_3(train, V, batch), rel=1e-4)


def test_the_objective_with_all_labels_of_a_row_is_the_double_sum_of_equation_1() -> None:
    method = make(keep=1.0, sampled=None, regularizer="none", batch=500, loss="margin", positives="all", margin=2.0)
    loss, scores, _, batch = first_step(method, known().train)
    assert batch.candidates is not None
    truth = batch.Y[:, batch.candidates.labels.numpy()].toarray() > 0
    total = 0.0
    for row in range(len(scores)):
        for y in np.flatnonzero(truth[row]):
            total += np.maximum(scores[row, ~truth[row]] - scores[row, y] + 2.0, 0).sum()
    assert loss == pytest.approx(total / len(scores), rel=1e-4)


@pytest.mark.parametrize("positives", ["one", "all"])
def test_the_objective_with_softmax(positives: str) -> None:
    train = known().train
    method = make(keep=1.0, sampled=None, weight=3.0, batch=500, loss="softmax", positives=positives)
    loss, scores, V, batch = first_step(method, train)
    assert batch.candidates is not None
    truth = batch.Y[:, batch.candidates.labels.numpy()].toarray().astype(np.float64)
    if positives == "one":
        truth = np.eye(truth.shape[1])[batch.extra["one"].numpy()]
    log_p = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    softmax = -(truth / truth.sum(axis=1, keepdims=True) * log_p).sum(axis=1).mean()
    assert loss == pytest.approx(softmax + 3.0 * equation_3(train, V, batch), rel=1e-4)


def test_the_drawn_labels_are_the_rows_own_and_counted() -> None:
    _, _, _, batch = first_step(make(batch=500), known().train)
    assert batch.extra["counts"].sum() == len(batch)
    assert len(batch.extra["distinct"]) == len(batch.extra["counts"]) < len(batch)


@pytest.mark.parametrize(
    "params",
    [
        {"loss": "mining"},
        {"loss": "margin", "positives": "all"},
        {"loss": "softmax"},
        {"loss": "softmax", "positives": "all", "tokens": "corpus", "start": "centroid", "dropout": 0.2},
        {"regularizer": "spread_out", "weight_norm": False},
        {"regularizer": "gravity", "activation": "linear"},
        {"regularizer": "none"},
        {"affinity": "geometric"},
    ],
)
def test_every_variant_learns(params: dict[str, object]) -> None:
    assert p_at_1(fitted(**params)) > 0.85


def test_the_loss_is_softmax_from_ten_labels_a_point_on() -> None:
    assert [GlasConfig().loss_for(n) for n in (5.4, 9.9, 10, 75)] == ["margin", "margin", "softmax", "softmax"]
    assert GlasConfig(loss="mining").loss_for(75) == "mining"
    assert [GlasConfig().batch_for(n) for n in (100, 12_920, 1_000_000)] == [16, 512, 4096]


def test_label_vectors_are_of_one_length() -> None:
    method = fitted(epochs=3)
    lengths = np.linalg.norm(method.space_.labels.index.vectors[:, :-1], axis=1)
    np.testing.assert_allclose(lengths, float(method.space_.encoder.length.detach()), rtol=1e-4)


def test_the_generalisation_gap_is_kept() -> None:
    gap = fitted(epochs=3).state().facts["gap"]
    assert gap["gap"] == pytest.approx(gap["train P@1"] - gap["valid P@1"])


def test_rarity_lifts_rare_labels() -> None:
    X, counts = known().test.X, np.bincount(known().train.Y.indices)
    plain, lifted = (counts[fitted(epochs=3, rarity=r).predict(X, 3).labels].mean() for r in (0, 3 / 2))
    assert lifted < plain


@pytest.mark.parametrize("precision", ["float16", "int8"])
def test_a_rounded_model_answers_the_same_after_loading(precision: str) -> None:
    method, again = fitted(epochs=3, precision=precision), make(epochs=3, precision=precision)
    again.restore(method.state(), known().train.n_features, known().train.n_labels)
    assert method.state().arrays["features"].dtype == precision
    before, after = (m.predict(known().test.X, 3) for m in (method, again))
    np.testing.assert_array_equal(before.labels, after.labels)
    np.testing.assert_array_equal(before.scores, after.scores)


def test_two_points_and_one_label_only() -> None:
    X = sp.identity(2, dtype=np.float32, format="csr")
    two = fitted(Points(X, X), Points(X, X))
    assert two.predict(X, 1).labels[:, 0].tolist() == [0, 1]
    one = Points(X, sp.csr_matrix(np.ones((2, 1), dtype=np.float32)))
    assert (fitted(one, one).predict(X, 1).labels == 0).all()


def test_points_without_labels_and_labels_without_points_do_not_disturb() -> None:
    train = known().train
    empty = sp.csr_matrix((20, train.n_labels), dtype=np.float32)
    method = fitted(train.joined(Points(train.X[:20], empty)))
    assert p_at_1(method) > 0.85
    assert 6 not in method.predict(known().test.X, 3).labels  # label 6 is never seen


def test_what_is_no_parameter_any_more_is_refused_by_name() -> None:
    for name in ("votes", "networks"):
        with pytest.raises(ParameterError, match="no longer a parameter"):
            make_method("glas", {name: 1})
