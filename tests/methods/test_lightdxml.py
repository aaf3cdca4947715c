"""LightDXML beside Algorithm 1: shortlists, cycles, objective, fusion, opinions, presets, word vectors."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.contract import N_LABELS, SEEN, known
from zipfel.errors import ParameterError
from zipfel.methods import make_method
from zipfel.methods.lightdxml import LightDXML, LightDXMLConfig
from zipfel.metrics import evaluate
from zipfel.nn.pairs import Pairs
from zipfel.nn.table import Table
from zipfel.run import Run
from zipfel.system.threads import use_threads
from zipfel.training import Batches

QUICK = {"dim": 32, "epochs": 10, "label_epochs": 1, "batch": 16, "dropout": 0.2}


def _fitted(run: Run | None = None, **params: object) -> LightDXML:
    method = make_method("lightdxml", {**QUICK, **params})
    assert isinstance(method, LightDXML)
    with use_threads(1):
        method.fit(known().train, known().valid, run or Run(seed=1, threads=1))
    return method


def _p1(method: LightDXML) -> float:
    return evaluate(method.predict(known().test.X, 1), known().test.Y, ks=(1,))["P@1"]


def test_the_shortlist_is_log_l_within_the_papers_limits() -> None:
    assert [LightDXMLConfig().k(n) for n in (6, 983, 20_000, 670_000)] == [6, 689, 700, 700]
    assert LightDXMLConfig(shortlist=50).k(20) == 20
    assert [LightDXMLConfig().batch_for(n) for n in (100, 2000, 50_000)] == [16, 64, 256]


def test_table_v_is_in_the_presets() -> None:
    config = make_method("lightdxml", preset="wiki10-31k").config
    assert isinstance(config, LightDXMLConfig)
    found = (config.beta, config.shortlist, config.lr, config.epochs, config.label_epochs, config.relabel_every)
    assert found == (0.60, 600, 0.009, 21, 8, 6)
    assert LightDXML.presets["paper"] == {}


def test_the_objective_is_equation_7_on_positives_and_shortlist() -> None:
    method = make_method("lightdxml", {"dim": 4, "dropout": 0.0})
    assert isinstance(method, LightDXML)
    train = known().train
    method._start(train, np.arange(N_LABELS), Run(seed=1))
    rng = np.random.default_rng(0)
    method.tables_["labels"] = Table(rng.standard_normal((N_LABELS, 4)).astype(np.float32))
    shortlists = rng.integers(0, N_LABELS, (train.n_points, 2))

    def extend(batch, _):  # type: ignore[no-untyped-def]
        pairs = Pairs.of(batch.Y.indptr, batch.Y.indices, shortlists[batch.rows], N_LABELS)
        batch.ids["labels"], batch.extra["pairs"] = pairs.ids, pairs

    batch = next(iter(Batches(train.X, train.Y, size=9, seed=0, extend=extend).epoch(0)))
    rows = {name: table.rows(batch.ids[name]) for name, table in method.tables_.items()}
    found = float(method.objective(batch, rows).detach())
    points, W, total = method.encode(train.X[batch.rows]), method.tables_["labels"].numpy(), 0.0
    for i, row in enumerate(batch.rows):
        positives = set(train.Y[row].indices)
        for j in positives | set(shortlists[row]):
            z = float(points[i, :-1] @ W[j, :-1] + W[j, -1])
            total += math.log1p(math.exp(-z if j in positives else z))
    assert found == pytest.approx(total / 9, rel=1e-5)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"relu": False, "centre": True, "n_head": 2},
        {"point_relu": True},
        {"label_start": "random", "label_epochs": 4, "tokens": "random"},
        {"score_all": True, "keep": 0.8, "precision": "int8"},
        {"beta": 0.5},
    ],
)
def test_every_variant_learns_the_known_answer(params: dict[str, object]) -> None:
    assert _p1(_fitted(**params)) >= 0.9


@pytest.mark.parametrize("kind", ["exact", "hnsw", "ivfpq"])
def test_the_shortlist_decides_at_prediction(kind: str) -> None:
    method = _fitted(index=kind, shortlist=3)
    assert method.scorer_.index is not None
    ranking = method.predict(known().test.X, SEEN)
    assert ((ranking.labels >= 0).sum(axis=1) <= 3).all()
    assert _p1(method) >= 0.8


def test_a_prediction_is_section_f_by_the_saved_numbers() -> None:
    """beta s(w_j . x) + (1 - beta) s(cos(x, z_j)) of the k labels with the largest cosine, by numpy alone."""
    method, X = _fitted(shortlist=3, beta=0.4), known().test.X
    found, saved = method.predict(X, SEEN), method.state().arrays
    h = X.toarray() @ saved["tokens"] + saved["encoder.bias"]
    x = h + np.maximum(h @ saved["encoder.residual.weight"].T + saved["encoder.residual.bias"], 0)
    norms = np.linalg.norm(x, axis=1)[:, None] * np.linalg.norm(saved["codes"], axis=1)
    cosines = x @ saved["codes"].T / norms
    logits = x[:, :-1] @ saved["classifiers"][:, :-1].T + saved["classifiers"][:, -1]
    scores = 0.4 / (1 + np.exp(-logits)) + 0.6 / (1 + np.exp(-cosines))
    for row in np.flatnonzero(np.diff(X.indptr)):
        nearest = np.argsort(-cosines[row])[:3]
        expected = nearest[np.argsort(-scores[row, nearest])]
        assert found.labels[row, :3].tolist() == saved["labels"][expected].tolist()
        np.testing.assert_allclose(found.scores[row, :3], scores[row, expected], rtol=1e-4)


def test_labels_never_seen_are_left_out() -> None:
    method = _fitted()
    assert method.scorer_.labels.tolist() == list(range(SEEN))
    assert N_LABELS - 1 not in method.predict(known().test.X, N_LABELS).labels


def test_seconds_of_each_step_do_not_overlap_and_equation_2_is_kept() -> None:
    run = Run(seed=1, threads=1)
    facts = _fitted(run).state().facts["training"]
    assert {"step 1: tokens", "step 2: label codes", "step 3: shortlists", "step 4: classifiers"} <= set(run.timings)
    assert all(seconds >= 0 for seconds in run.timings.values())
    assert [cycle["epoch"] for cycle in facts["cycles"]] == [0, 8, 1_000_000]
    assert facts["cycles"][0]["eq2_last"] <= facts["cycles"][0]["eq2_first"] * 1.05


def test_word_vectors_are_looked_up_by_feature_name(tmp_path: Path) -> None:
    names = [f"w{i}" for i in range(known().train.n_features)]
    path = tmp_path / "words.vec"
    path.write_text("".join(f"{name} {' '.join(['0.5'] * 31)} {i}\n" for i, name in enumerate(names)))
    run = Run(seed=1, threads=1, feature_names=names)
    method = _fitted(run, tokens="file", vectors=str(path), epochs=2)
    assert method.predict(known().test.X, 1).labels.min() >= 0
    with pytest.raises(ParameterError, match="names"):
        _fitted(tokens="file", vectors=str(path))


def test_the_encoder_has_the_shape_that_the_model_says() -> None:
    method = _fitted()
    again = make_method("lightdxml", method.config.to_dict())
    state = method.state()
    arrays = {**state.arrays, "encoder.residual.weight": torch.zeros(3, 3).numpy()}
    with pytest.raises(Exception, match="shape"):
        again.restore(type(state)(arrays, state.facts), known().train.n_features, N_LABELS)
