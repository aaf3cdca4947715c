"""Votes and sparse classifiers beside LightDXML's own scores: each can be switched off, and the blend is kept."""

from __future__ import annotations

import numpy as np
import pytest

from tests.contract import SEEN, known
from zipfel.errors import ModelFileError
from zipfel.methods import State, make_method
from zipfel.methods.lightdxml import LightDXML
from zipfel.metrics import evaluate
from zipfel.neighbors.voters import KINDS
from zipfel.neighbors.words import VOTES
from zipfel.run import Run

QUICK = {"dim": 32, "epochs": 6, "batch": 16, "n_sampled": 3, "n_hard": 2, "networks": 1}


def _fitted(**params: object) -> LightDXML:
    method = make_method("lightdxml", {**QUICK, **params})
    assert isinstance(method, LightDXML)
    method.fit(known().train, known().valid, Run(seed=1))
    return method


ALWAYS, SPARSE = ["logit", "cosine", "frequency"], ["doubt", "trust"]
VOTED = [*(f"log {kind}" for kind in VOTES), *VOTES, *KINDS]


@pytest.mark.parametrize(
    ("params", "names"),
    [
        ({}, ALWAYS + VOTED + SPARSE),
        ({"sparse": False}, ALWAYS + VOTED),
        ({"votes": False}, ALWAYS + SPARSE),
        ({"networks": 2}, ALWAYS + VOTED + SPARSE),
    ],
)
def test_each_opinion_can_be_left_out(params: dict[str, object], names: list[str]) -> None:
    opinions = _fitted(**params).opinions_
    assert opinions is not None
    assert opinions.names == names
    evidence = dict(zip(opinions.blend.names, opinions.blend.weights, strict=True))
    assert min(weight for name, weight in evidence.items() if name != "frequency") >= 0
    assert evaluate(_fitted(**params).predict(known().test.X, 1), known().test.Y, ks=(1,))["P@1"] >= 0.9


def test_restored_opinions_answer_the_same() -> None:
    method = _fitted()
    again = make_method("lightdxml", QUICK)
    again.restore(method.state(), known().train.n_features, known().train.n_labels)
    found, expected = again.predict(known().test.X, 3), method.predict(known().test.X, 3)
    assert np.array_equal(found.labels, expected.labels)
    assert np.allclose(found.scores, expected.scores, atol=1e-6)


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
    assert method.opinions_.words.memory is not None
    assert len(method.opinions_.words.memory) == known().train.n_points + known().valid.n_points
    assert method.opinions_.tail == 0.7


@pytest.mark.parametrize(("part", "told"), [("words.memory", "memory"), ("voters.", "voting points")])
def test_a_model_without_its_voters_is_an_error(part: str, told: str) -> None:
    state = _fitted().state()
    arrays = {name: array for name, array in state.arrays.items() if not name.startswith(part)}
    with pytest.raises(ModelFileError, match=told):
        make_method("lightdxml", QUICK).restore(
            State(arrays, state.facts), known().train.n_features, known().train.n_labels
        )
