"""MNN against its equations, and its edges; the contract suite has the rest."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from tests.contract import known
from zipfel.errors import ParameterError
from zipfel.methods import Points, make_method
from zipfel.methods.mnn import Mnn, MnnConfig
from zipfel.metrics import evaluate
from zipfel.nn.averaging import Encoders
from zipfel.nn.bag import LocalRows
from zipfel.run import Run
from zipfel.system.threads import use_threads
from zipfel.training import Batch
from zipfel.training.label_sets import SetDraws

QUICK = {"dim": 16, "encoders": 1, "epochs": 5, "batch": 16, "temperature": 0.1, "negatives": 10, "keep": 0.6}


def make(**params: object) -> Mnn:
    method = make_method("mnn", {**QUICK, **params})
    assert isinstance(method, Mnn)
    return method


def batch_of(method: Mnn, X: sp.csr_matrix, Y: sp.csr_matrix) -> tuple[Batch, dict[str, torch.Tensor]]:
    batch = Batch(np.arange(X.shape[0]), LocalRows.from_csr(X), Y, (0,))
    SetDraws(Y, exclude=method.config.exclude, sampled=method.config.negatives or 1)(batch, np.random.default_rng(0))
    generator = torch.Generator().manual_seed(0)
    width = method.config.encoders * method.config.dim
    tables = {"features": (X.shape[1], batch.X.ids), "labels": (Y.shape[1], batch.ids["labels"])}
    rows = {name: torch.randn(n, width, generator=generator)[ids] for name, (n, ids) in tables.items()}
    return batch, rows


def by_the_paper(method: Mnn, batch: Batch, rows: dict[str, torch.Tensor], X: np.ndarray, Y: np.ndarray) -> float:
    """Eq. 1-11 literally, one row and one negative at a time, for one encoder."""
    W_x, W_y = torch.zeros(X.shape[1], rows["features"].shape[1]), torch.zeros(Y.shape[1], rows["labels"].shape[1])
    W_x[batch.X.ids], W_y[batch.ids["labels"]] = rows["features"], rows["labels"]
    f_x = [sum(W_x[j] * x[j] for j in np.flatnonzero(x)) / np.count_nonzero(x) for x in X]
    f_y = [sum(W_y[j] for j in np.flatnonzero(y)) / np.count_nonzero(y) for y in Y]
    total = 0.0
    for i in range(len(X)):
        total += 0.25 * (1 - torch.cosine_similarity(f_x[i], f_y[i], dim=0).item()) ** 2
        hardest = 0.0
        for j in batch.extra["sampled"][i].tolist():
            c = torch.cosine_similarity(f_x[i], f_y[j], dim=0).item()
            if c > (method.config.margin or 0) and (Y[i] != Y[j]).any():
                hardest = max(hardest, c**2)
        total += hardest
    return total / len(X)


def test_the_objective_is_equation_11() -> None:
    rng = np.random.default_rng(3)
    X = (rng.random((6, 5)) * (rng.random((6, 5)) < 0.6)).astype(np.float32) + np.eye(6, 5, dtype=np.float32)
    X[5, 0] = 1
    Y = (rng.random((6, 4)) < 0.4).astype(np.float32)
    Y[:, 0] = 1
    Y[1] = Y[0]
    method = make(loss="contrastive", margin=0.05, negatives=4)
    batch, rows = batch_of(method, sp.csr_matrix(X), sp.csr_matrix(Y))
    expected = by_the_paper(method, batch, rows, X, Y)
    assert method.objective(method.config, batch, rows).item() == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("ranking", ["labels", "sets", "points"])
@pytest.mark.parametrize("loss", ["infonce", "contrastive"])
def test_every_reading_and_loss_learns(ranking: str, loss: str) -> None:
    method = make(ranking=ranking, loss=loss, epochs=15)
    method.fit(known().train, known().valid, Run(seed=1))
    assert list(method.blend_.rules) == [ranking]
    assert evaluate(method.predict(known().test.X, 1), known().test.Y, ks=(1,))["P@1"] > 0.8


def test_encoders_are_averaged_in_the_objective() -> None:
    X, Y = known().train.X[9:40], known().train.Y[9:40]
    method = make(loss="contrastive", encoders=2, negatives=5)
    batch, rows = batch_of(method, X, Y)
    dim, single = method.config.dim, make(loss="contrastive", negatives=5)
    halves = [{n: r[:, e * dim : (e + 1) * dim] for n, r in rows.items()} for e in (0, 1)]
    expected = np.mean([single.objective(single.config, batch, half).item() for half in halves])
    assert method.objective(method.config, batch, rows).item() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("precision", ["float16", "int8"])
def test_a_rounded_model_is_smaller_and_answers_the_same_after_loading(precision: str) -> None:
    sizes = {}
    for kept in ("float32", precision):
        method = make(precision=kept)
        method.fit(known().train, known().valid, Run(seed=1))
        state = method.state()
        sizes[kept] = sum(a.nbytes for name, a in state.arrays.items() if "vectors" in name or name == "features")
    again = make(precision=precision)
    again.restore(state, known().train.n_features, known().train.n_labels)
    before, after = (m.predict(known().test.X, 3) for m in (method, again))
    np.testing.assert_array_equal(before.labels, after.labels)
    np.testing.assert_array_equal(before.scores, after.scores)
    assert sizes[precision] < 0.6 * sizes["float32"]


def test_two_points_only() -> None:
    X, Y = sp.identity(2, dtype=np.float32, format="csr"), sp.identity(2, dtype=np.float32, format="csr")
    method = make()
    method.fit(Points(X, Y), None, Run(seed=1))
    assert method.predict(X, 1).labels[:, 0].tolist() == [0, 1]


def test_points_without_labels_and_labels_without_points_do_not_disturb() -> None:
    train = known().train
    empty = sp.csr_matrix((20, train.n_labels), dtype=np.float32)
    method = make()
    method.fit(train.joined(Points(train.X[:20], empty)), known().valid, Run(seed=1))
    assert evaluate(method.predict(known().test.X, 1), known().test.Y, ks=(1,))["P@1"] > 0.85
    ranking = method.predict(known().test.X, train.n_labels)
    assert 6 not in ranking.labels[:, :3]  # label 6 is never seen


def test_one_label_only() -> None:
    X = sp.csr_matrix(np.eye(30, 6, dtype=np.float32) + np.eye(30, 6, -6, dtype=np.float32))
    Y = sp.csr_matrix(np.ones((30, 1), dtype=np.float32))
    method = make()
    method.fit(Points(X, Y), None, Run(seed=1))
    assert (method.predict(X, 1).labels == 0).all()


def test_a_feature_never_seen_says_nothing() -> None:
    train = known().train
    wide = sp.hstack([train.X, sp.csr_matrix((train.n_points, 1), dtype=np.float32)], format="csr")
    method = make()
    method.fit(Points(wide, train.Y), None, Run(seed=1))
    new = sp.csr_matrix(([1.0], ([0], [train.n_features])), shape=(1, train.n_features + 1), dtype=np.float32)
    row = wide[9:10]
    np.testing.assert_array_equal(method.predict(row + new, 3).labels, method.predict(row, 3).labels)
    commonest = np.asarray(train.Y.sum(axis=0)).ravel().argmax()
    assert method.predict(new, 1).labels[0, 0] == commonest


@pytest.mark.parametrize("encoders", [1, 3])
def test_the_votes_are_chosen_on_points_that_their_encoders_have_not_seen(
    encoders: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained: dict[str, tuple[int, int]] = {}
    train = Mnn._train

    def noted(self: Mnn, points: Points, run: Run, c: MnnConfig, n: int, name: str) -> Encoders:
        trained[name] = (points.n_points, n)
        return train(self, points, run, c, n, name)

    monkeypatch.setattr(Mnn, "_train", noted)
    method = make(encoders=encoders, margin=0.1)
    method.fit(known().train, known().valid, Run(seed=1))
    n, everything = known().train.n_points, known().train.n_points + known().valid.n_points
    assert trained == {"mnn-0": (n, 1), "mnn": (everything, encoders)}
    assert method.encoders_.features.shape[1] == encoders * method.config.dim


def test_threads_change_nothing() -> None:
    answers = []
    for threads in (1, 2):
        method = make()
        with use_threads(threads):
            method.fit(known().train, None, Run(seed=1, threads=threads))
        answers.append(method.predict(known().test.X, 3))
    np.testing.assert_array_equal(answers[0].labels, answers[1].labels)
    np.testing.assert_array_equal(answers[0].scores, answers[1].scores)


def test_options_that_are_gone_name_what_to_use_instead() -> None:
    with pytest.raises(ParameterError, match=r"tail.*auto"):
        make(tail=True)


def test_the_papers_preset_is_one_pair_with_the_papers_loss() -> None:
    config = make_method("mnn", preset="paper").config.to_dict()
    assert (config["loss"], config["encoders"], config["precision"], config["rarity"]) == (
        "contrastive",
        1,
        "float32",
        0,
    )
