"""The judge: bonus for rare labels, what is saved, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.errors import ModelFileError
from zipfel.evidence.context import Context
from zipfel.evidence.judge import BONUSES, HeldOut, Judge, largest_bonus


def _held(n: int = 300) -> HeldOut:
    rng = np.random.default_rng(0)
    truth = rng.random((n, 20)) < 0.2
    evidence = np.stack([truth + rng.normal(size=truth.shape) for _ in range(3)], axis=2).astype(np.float32)
    labels = np.tile(np.arange(20), (n, 1))
    rarity = np.linspace(0, 2, 20).astype(np.float32)
    names, can_oppose = ["a", "b", "frequency"], frozenset({"frequency"})
    return HeldOut(names, labels, evidence, sp.csr_matrix(truth), np.full(20, 9), rarity, can_oppose)


@pytest.mark.parametrize(("n", "bonus"), [(10, 0.0), (200, 0.1), (300, 0.2), (600, 0.4), (5000, 0.4)])
def test_few_points_prove_no_large_bonus(n: int, bonus: float) -> None:
    labels, scores = np.zeros((n, 1), dtype=np.int64), np.zeros((n, 1), dtype=np.float32)  # a bonus costs nothing here
    assert largest_bonus(labels, scores, np.ones(1), np.ones((n, 1), dtype=bool)) == bonus <= max(BONUSES)


def test_evidence_never_counts_against_a_label_but_for_its_frequency() -> None:
    held = _held()
    against = HeldOut(held.names, held.labels, -held.evidence, held.truth, held.counts, held.rarity, held.can_oppose)
    weights = dict(zip(held.names, Judge.fit(against, None, products=False).first.weights, strict=True))
    assert weights["a"] == weights["b"] == 0
    assert weights["frequency"] < 0


def test_facts_round_trip() -> None:
    held = _held()
    context = Context.of(sp.csr_matrix(held.truth, dtype=np.float32))
    judge = Judge.fit(held, context)
    again = Judge.from_facts(json.loads(json.dumps(judge.facts())), held.names)
    np.testing.assert_array_equal(
        again.log_odds(held.labels, held.evidence, context), judge.log_odds(held.labels, held.evidence, context)
    )
    assert again.bonus == judge.bonus
    assert judge.products is not None


@pytest.mark.parametrize("damage", [{"bonus": "much"}, {"bonus": float("nan")}, {"first": None}, {"products": {}}])
def test_damaged_facts_are_refused(damage: dict[str, Any]) -> None:
    facts = Judge.fit(_held(), None).facts() | damage
    with pytest.raises(ModelFileError):
        Judge.from_facts(facts, ["a", "b", "frequency"])
    with pytest.raises(ModelFileError):
        Judge.from_facts([], ["a"])


def test_held_out_points_are_ranked_with_the_bonus_and_scored_without() -> None:
    held = _held()
    judge = Judge.fit(held, None, bonus=100.0)
    found = judge.ranked(held, None)
    assert found.labels[:, 0].tolist() == [19] * 300  # the rarest
    plain = judge.log_odds(held.labels, held.evidence, None)
    np.testing.assert_allclose(found.scores[:, 0], plain[:, 19])
    assert (found.hits[:, 0] == held.truth.toarray()[:, 19]).all()


def test_only_some_columns() -> None:
    held = _held().only([0, 2])
    assert held.names == ["a", "frequency"]
    assert held.evidence.shape == (300, 20, 2)


def test_held_out_points_are_scored_by_judges_that_have_not_seen_them() -> None:
    """Evidence without meaning: a judge believes in it on the documents that it learnt from, and on no others."""
    rng = np.random.default_rng(1)
    n, columns = 120, 25
    truth = rng.random((n, 20)) < 0.2
    evidence = rng.normal(size=(n, 20, columns)).astype(np.float32)
    labels, names = np.tile(np.arange(20), (n, 1)), [f"c{i}" for i in range(columns)]
    held = HeldOut(names, labels, evidence, sp.csr_matrix(truth), np.full(20, 9), np.zeros(20), frozenset(names))
    judge = Judge.fit(held, None, bonus=0.0)
    seen, unseen = judge.ranked(held, None), judge.cross_ranked(held, None)
    assert unseen.labels.shape == seen.labels.shape
    assert seen.hits[:, 0].mean() > 0.3
    assert unseen.hits[:, 0].mean() < 0.27
