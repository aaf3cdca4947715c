"""Votes and sparse classifiers beside LightDXML's own scores: each can be switched off, and the blend is kept."""

from __future__ import annotations

import numpy as np
import pytest

from tests.contract import SEEN, known
from zipfel.errors import ModelFileError
from zipfel.methods import State, make_method
from zipfel.methods.lightdxml import LightDXML
from zipfel.metrics import evaluate
from zipfel.run import Run

QUICK = {"dim": 32, "epochs": 6, "batch": 16, "n_sampled": 3, "n_hard": 2, "networks": 1}


def _fitted(**params: object) -> LightDXML:
    method = make_method("lightdxml", {**QUICK, **params})
    assert isinstance(method, LightDXML)
    method.fit(known().train, known().valid, Run(seed=1))
    return method


@pytest.mark.parametrize(
    ("params", "names"),
    [
        ({}, ["logit", "cosine", "near", "crowd", "doubt", "trust"]),
        ({"sparse": False}, ["logit", "cosine", "near", "crowd"]),
        ({"votes": False}, ["logit", "cosine", "doubt", "trust"]),
        ({"networks": 2}, ["logit", "cosine", "near", "crowd", "doubt", "trust"]),
    ],
)
def test_each_opinion_can_be_left_out(params: dict[str, object], names: list[str]) -> None:
    method = _fitted(**params)
    assert method.opinions_ is not None
    assert method.opinions_.names == names
    assert min(method.opinions_.blend.weights) >= 0
    assert evaluate(method.predict(known().test.X, 1), known().test.Y, ks=(1,))["P@1"] >= 0.9


def test_candidates_are_distinct_and_voted_labels_are_among_them() -> None:
    opinions = _fitted(candidates=2).opinions_
    assert opinions is not None
    labels, evidence = opinions._evidence(known().test.X, 2)
    assert evidence.shape == (*labels.shape, len(opinions.names))
    assert np.isfinite(evidence).all()
    for row in labels:
        found = row[row >= 0]
        assert len(found) == len(set(found.tolist()))
        assert 2 <= len(found) <= SEEN


def test_all_points_vote_in_the_end_and_a_given_bonus_is_kept() -> None:
    method = _fitted(tail=0.7)
    assert method.opinions_ is not None
    assert method.opinions_.voters is not None
    assert len(method.opinions_.voters.codes) == known().train.n_points + known().valid.n_points
    assert method.opinions_.tail == 0.7


def test_a_model_without_its_voters_is_an_error() -> None:
    state = _fitted().state()
    arrays = {name: array for name, array in state.arrays.items() if not name.startswith("voters.")}
    with pytest.raises(ModelFileError, match="voting points"):
        make_method("lightdxml", QUICK).restore(
            State(arrays, state.facts), known().train.n_features, known().train.n_labels
        )
