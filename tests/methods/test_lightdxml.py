"""What LightDXML does beyond the contract: sizes, presets, cycles, pruning, timings, word vectors, shortlists."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from tests.contract import N_LABELS, SEEN, known
from zipfel.errors import ParameterError
from zipfel.methods import Points, make_method
from zipfel.methods.lightdxml import LightDXML, LightDXMLConfig, sized
from zipfel.metrics import evaluate
from zipfel.run import Run

QUICK = {"dim": 32, "epochs": 10, "batch": 16, "n_sampled": 3, "n_hard": 2, "networks": 1}
PAPER = {"votes": False, "sparse": False}


def _fitted(run: Run | None = None, **params: object) -> LightDXML:
    method = make_method("lightdxml", {**QUICK, **params})
    assert isinstance(method, LightDXML)
    method.fit(known().train, known().valid, run or Run(seed=1))
    return method


def _p1(method: LightDXML) -> float:
    return evaluate(method.predict(known().test.X, 1), known().test.Y, ks=(1,))["P@1"]


@pytest.mark.parametrize("size", [(50, 30, 10), (40_000, 30_000, 20_000), (1_000_000, 1000, 700_000)])
def test_sizes_fill_every_gap_and_leave_what_is_set(size: tuple[int, int, int]) -> None:
    n, n_features, n_labels = size
    Y = sp.csr_matrix((np.ones(n, np.float32), (np.arange(n), np.arange(n) % n_labels)), shape=(n, n_labels))
    points = Points(sp.csr_matrix((n, n_features), dtype=np.float32), Y)
    chosen = sized(LightDXMLConfig(), points)
    assert None not in (chosen.dim, chosen.batch, chosen.epochs, chosen.relabel_every, chosen.shortlist)
    assert sized(LightDXMLConfig(dim=7, epochs=2), points).dim == 7


def test_table_v_is_in_the_presets() -> None:
    config = make_method("lightdxml", preset="wiki10-31k").config
    assert isinstance(config, LightDXMLConfig)
    found = (config.beta, config.shortlist, config.lr, config.epochs, config.label_epochs, config.relabel_every)
    assert found == (0.60, 600, 0.009, 21, 8, 6)
    assert (config.votes, config.sparse) == (False, False)


def test_whoever_sets_beta_gets_the_papers_fusion() -> None:
    assert sized(LightDXMLConfig(), known().train).votes
    chosen = sized(LightDXMLConfig(beta=0.5), known().train)
    assert (chosen.votes, chosen.sparse) == (False, False)
    assert _fitted(**PAPER).opinions_ is None


@pytest.mark.parametrize(
    "params", [{}, {"relu": True}, {"tokens": "random", "label_epochs": 0}, {"correction": 1.0}, PAPER]
)
def test_every_variant_learns_the_known_answer(params: dict[str, object]) -> None:
    assert _p1(_fitted(**params)) >= 0.9


@pytest.mark.parametrize("kind", ["exact", "hnsw", "ivfpq"])
def test_prediction_by_shortlist_and_beta_at_both_ends(kind: str) -> None:
    method = _fitted(score_all=0, index=kind, n_head=2, shortlist=4)
    assert method.networks_[0].scorer.index is not None
    assert _p1(method) >= 0.9
    for beta in (0.0, 1.0):
        assert _p1(_fitted(score_all=0, beta=beta, n_head=2)) >= 0.8


def test_networks_are_averaged_and_differ() -> None:
    method = _fitted(networks=2)
    one, other = (network.tokens for network in method.networks_)
    assert not np.array_equal(one, other)
    assert _p1(method) >= 0.9


def test_labels_never_seen_are_pruned_and_never_ranked() -> None:
    method = _fitted()
    assert method.networks_[0].scorer.labels.tolist() == list(range(SEEN))
    assert method.state().arrays["0.classifiers"].shape[0] == SEEN
    assert N_LABELS - 1 not in method.predict(known().test.X, N_LABELS).labels


def test_timings_by_module_and_facts_are_kept() -> None:
    run = Run(seed=1)
    facts = _fitted(run, **PAPER).state().facts["networks"][0]
    assert {"tokens", "labels", "shortlist", "classifier", "index", "beta"} <= set(run.timings)
    assert 0 < facts["training"]["spread"] <= 1
    assert set(facts["training"]["lost_by_rounding"]) == {"P@1", "P@3", "P@5"}


def test_int8_is_a_quarter_of_float32() -> None:
    sizes = {
        p: sum(a.nbytes for a in _fitted(precision=p, **PAPER).state().arrays.values()) for p in ("float32", "int8")
    }
    assert sizes["int8"] < 0.6 * sizes["float32"]


def test_word_vectors_are_looked_up_by_feature_name(tmp_path: Path) -> None:
    names = [f"w{i}" for i in range(known().train.n_features)]
    path = tmp_path / "words.vec"
    path.write_text("".join(f"{name} {' '.join(['0.5'] * 31)} {i}\n" for i, name in enumerate(names)))
    method = _fitted(Run(seed=1, feature_names=names), tokens="file", vectors=str(path), epochs=2)
    assert method.predict(known().test.X, 1).labels.min() >= 0
    with pytest.raises(ParameterError, match="names"):
        _fitted(tokens="file", vectors=str(path))


def test_many_points_are_seen_three_times_beside_the_words() -> None:
    Y = sp.csr_matrix((np.ones(20_000, np.float32), (np.arange(20_000), np.arange(20_000) % 4000)))
    train = Points(sp.csr_matrix((20_000, 5), dtype=np.float32), Y)
    assert sized(LightDXMLConfig(), train).epochs == 3
    assert sized(LightDXMLConfig(votes=False, sparse=False), train).epochs == 12  # 450 steps of 512
    assert sized(LightDXMLConfig(), train.take(np.arange(10_000))).epochs == 23
