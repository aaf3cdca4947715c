"""GLaS against its equations, and its edges; the contract suite has the rest."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from tests.contract import QUICK, known
from zipfel.methods import Points, make_method
from zipfel.methods.glas import Glas
from zipfel.methods.glas_config import GlasConfig
from zipfel.methods.glas_network import GlasNetwork
from zipfel.metrics import evaluate
from zipfel.run import Run


def make(**params: object) -> Glas:
    """GLaS without further opinions, unless asked for."""
    method = make_method("glas", {**QUICK["glas"], "votes": False, "sparse": False, **params})
    assert isinstance(method, Glas)
    return method


def p_at_1(method: Glas) -> float:
    return evaluate(method.predict(known().test.X, 1), known().test.Y, ks=(1,))["P@1"]


def objective(method: Glas, train: Points) -> tuple[float, torch.Tensor, torch.Tensor, sp.csr_matrix]:
    """(loss of the first batch, its scores, its label vectors of unit length, its labels as candidates)."""
    method.network_ = GlasNetwork(method.config.replace(dropout=0.0))
    method.priors_ = np.ones(train.n_labels, dtype=np.float32)
    tables, batches = method._tables(train, Run(seed=1)), method._batches(train, Run(seed=1))
    batch = next(iter(batches.epoch(0)))
    rows = {name: table.rows(batch.ids[name]) for name, table in tables.items()}
    loss = method._objective(batch, rows).item()
    assert batch.candidates is not None
    V = torch.nn.functional.normalize(rows["labels"], dim=1).detach()
    codes = torch.from_numpy(method._encode(train.X[batch.rows], tables["features"].numpy()))
    return loss, method.config.length * codes @ V.T, V, batch.Y[:, batch.candidates.labels.numpy()]


def test_the_objective_is_softmax_plus_lambda_times_equation_3() -> None:
    train = known().train
    method = make(networks=1, keep=1.0, sampled=None, weight=7.0, batch=500, activation="linear")
    loss, scores, V, Y = objective(method, train)
    truth = torch.from_numpy(Y.toarray())
    target = truth / truth.sum(dim=1, keepdim=True)
    softmax = -(target * torch.log_softmax(scores, dim=1)).sum(dim=1).mean().item()
    A = np.asarray((train.Y.T @ train.Y).todense(), dtype=np.float64)[:6, :6]
    U = 0.5 * (A / np.diag(A) + A / np.diag(A)[:, None])
    gram = V.numpy() @ V.numpy().T
    assert loss == pytest.approx(softmax + 7.0 * ((gram - U) ** 2).sum() / 36, rel=1e-4)


@pytest.mark.parametrize("loss", ["softmax", "margin", "mining"])
def test_every_loss_learns(loss: str) -> None:
    method = make(loss=loss, positives="one")
    method.fit(known().train, known().valid, Run(seed=1))
    assert p_at_1(method) > 0.85


@pytest.mark.parametrize("regularizer", ["glas", "spread_out", "gravity", "none"])
def test_every_regularizer_learns(regularizer: str) -> None:
    method = make(regularizer=regularizer, affinity="geometric", start="random", activation="linear")
    method.fit(known().train, known().valid, Run(seed=1))
    assert p_at_1(method) > 0.85


def test_vectors_are_of_one_length() -> None:
    method = make(epochs=3, precision="float32", networks=2)
    method.fit(known().train, None, Run(seed=1))
    half = method.index_.vectors[:, : method.config.dim]  # the first of the two networks
    lengths = np.linalg.norm(half, axis=1)
    np.testing.assert_allclose(lengths, float(method.network_.log_length[0].exp().detach()) / 2, rtol=1e-4)


def test_the_generalisation_gap_is_kept() -> None:
    method = make(epochs=3)
    method.fit(known().train, known().valid, Run(seed=1))
    gap = method.state().facts["gap"]
    assert gap["gap"] == pytest.approx(gap["train P@1"] - gap["valid P@1"])


def test_rarity_lifts_rare_labels() -> None:
    plain, lifted = make(epochs=3, rarity=0), make(epochs=3, rarity=1.0)
    for method in (plain, lifted):
        method.fit(known().train, known().valid, Run(seed=1))
    X, counts = known().test.X, np.bincount(known().train.Y.indices)
    mean = [counts[method.predict(X, 3).labels].mean() for method in (plain, lifted)]
    assert mean[1] < mean[0]


@pytest.mark.parametrize("precision", ["float16", "int8"])
def test_a_rounded_model_answers_the_same_after_loading(precision: str) -> None:
    method, again = (make(epochs=3, precision=precision, networks=2) for _ in range(2))
    method.fit(known().train, known().valid, Run(seed=1))
    again.restore(method.state(), known().train.n_features, known().train.n_labels)
    assert method.state().arrays["features"].dtype == precision
    before, after = (m.predict(known().test.X, 3) for m in (method, again))
    np.testing.assert_array_equal(before.labels, after.labels)
    np.testing.assert_array_equal(before.scores, after.scores)


def test_two_points_and_one_label_only() -> None:
    X = sp.identity(2, dtype=np.float32, format="csr")
    two = make()
    two.fit(Points(X, X), None, Run(seed=1))
    assert two.predict(X, 1).labels[:, 0].tolist() == [0, 1]
    one = make()
    one.fit(Points(X, sp.csr_matrix(np.ones((2, 1), dtype=np.float32))), None, Run(seed=1))
    assert (one.predict(X, 1).labels == 0).all()


def test_points_without_labels_and_labels_without_points_do_not_disturb() -> None:
    train = known().train
    empty = sp.csr_matrix((20, train.n_labels), dtype=np.float32)
    method = make()
    method.fit(train.joined(Points(train.X[:20], empty)), known().valid, Run(seed=1))
    assert p_at_1(method) > 0.85
    assert 6 not in method.predict(known().test.X, 3).labels  # label 6 is never seen


def test_epochs_beside_the_words_are_what_makes_two_hundred_steps() -> None:
    config = GlasConfig()
    assert [config.epochs_for(n) for n in (1, 50, 65, 1000)] == [6, 4, 3, 3]
    assert config.replace(votes=False, sparse=False).epochs_for(1000) == 6
    assert config.replace(epochs=9).epochs_for(1000) == 9
