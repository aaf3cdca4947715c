"""Votes and sparse classifiers beside GLaS's own scores: each can be switched off, and the blend is kept."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from tests.contract import QUICK, known
from zipfel.errors import ModelFileError
from zipfel.methods import Points, State, make_method
from zipfel.methods.glas import Glas
from zipfel.metrics import evaluate
from zipfel.run import Run
from zipfel.threads import use_threads

WORDS, SPARSE = {"words: crowd", "log words: nearest"}, {"doubt", "trust"}


def fitted(threads: int = 1, **params: object) -> Glas:
    method = make_method("glas", {**QUICK["glas"], **params})
    assert isinstance(method, Glas)
    with use_threads(threads):
        method.fit(known().train, known().valid, Run(seed=1, threads=threads))
    return method


@pytest.mark.parametrize(
    ("params", "asked"), [({}, WORDS | SPARSE), ({"sparse": False}, WORDS), ({"votes": False}, SPARSE)]
)
def test_each_opinion_can_be_left_out(params: dict[str, object], asked: set[str]) -> None:
    method = fitted(**params)
    assert method.opinions_ is not None
    assert set(method.opinions_.names) & (WORDS | SPARSE) == asked
    assert evaluate(method.predict(known().test.X, 1), known().test.Y, ks=(1,))["P@1"] >= 0.9


def test_the_paper_hears_nobody_else() -> None:
    assert fitted(votes=False, sparse=False).opinions_ is None
    for name, preset in Glas.presets.items():
        assert not preset["votes"], name
        assert not preset["sparse"], name


def test_threads_change_nothing() -> None:
    one, two = (fitted(threads, dropout=0.3).predict(known().test.X, 3) for threads in (1, 2))
    np.testing.assert_array_equal(one.labels, two.labels)
    np.testing.assert_array_equal(one.scores, two.scores)


def test_the_bonus_lifts_rare_labels() -> None:
    counts = np.bincount(known().train.Y.indices)
    none, much = (counts[fitted(tail=tail).predict(known().test.X, 2).labels].mean() for tail in (0.0, 10.0))
    assert much < none


def test_scores_of_any_labels_are_those_of_the_search() -> None:
    method = fitted()
    codes = method.encode(known().test.X)
    found = method.search(codes, 3)
    np.testing.assert_allclose(method.scores(codes, found.labels), found.scores, rtol=1e-5, atol=1e-6)
    unseen = np.full((len(codes), 1), 6)  # label 6 is never seen
    assert np.isneginf(method.scores(codes, unseen)).all()


def test_a_damaged_model_is_refused() -> None:
    state = fitted().state()
    again = make_method("glas", QUICK["glas"])
    arrays = {**state.arrays, "opinions.counts": -state.arrays["opinions.counts"]}
    with pytest.raises(ModelFileError):
        again.restore(replace(state, arrays=arrays), known().train.n_features, known().train.n_labels)
    facts = {**state.facts, "opinions": {**state.facts["opinions"], "tail": float("nan")}}
    with pytest.raises(ModelFileError):
        again.restore(State(state.arrays, facts), known().train.n_features, known().train.n_labels)


def test_points_without_labels() -> None:
    X = sp.identity(30, dtype=np.float32, format="csr")
    method = make_method("glas", QUICK["glas"])
    method.fit(Points(X, sp.csr_matrix((30, 3), dtype=np.float32)), None, Run(seed=1))
    assert method.predict(X, 1).labels.shape == (30, 1)
