"""What likely labels say of each other: equal to the plain sums, kept where it pays, bounded where labels are many."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse as sp

from zipfel.errors import ModelFileError
from zipfel.evidence.context import OTHERS, Context
from zipfel.evidence.judge import HeldOut, Judge

Array = npt.NDArray[Any]
LEAVES, PARENTS = 20, 5


def _taxonomy(n: int, seed: int) -> Array:
    """(n, 25) a leaf a point, and its parent."""
    leaf = np.random.default_rng(seed).integers(0, LEAVES, n)
    Y = np.zeros((n, LEAVES + PARENTS), dtype=bool)
    Y[np.arange(n), leaf] = Y[np.arange(n), LEAVES + leaf % PARENTS] = True
    return Y


def _judge(n: int = 1500) -> tuple[Judge, Context, Array, Array, Array]:
    truth = _taxonomy(n, seed=0)
    context = Context.of(sp.csr_matrix(_taxonomy(3000, seed=1), dtype=np.float32))
    noise = np.random.default_rng(2).normal(size=truth.shape)
    evidence = (1.5 * truth + noise).astype(np.float32)[:, :, None]
    labels = np.tile(np.arange(truth.shape[1]), (n, 1))
    return learnt_judge(labels, evidence, truth, context), context, labels, evidence, truth


def learnt_judge(
    labels: Array,
    evidence: Array,
    truth: Array,
    context: Context | None,
    *,
    products: bool = False,
    can_oppose: tuple[str, ...] = (),
) -> Judge:
    """Of evidence a, b, c and so on, without a bonus."""
    n_labels = truth.shape[1]
    names, ones = list("abcdef"[: evidence.shape[2]]), np.ones(n_labels)
    held = HeldOut(names, labels, evidence, sp.csr_matrix(truth), ones, ones * 0, frozenset(can_oppose))
    return Judge.fit(held, context, products=products, bonus=0.0)


def test_the_kernel_equals_the_plain_sums() -> None:
    rng = np.random.default_rng(0)
    Y = (rng.random((60, 30)) < 0.2).astype(np.float32)
    labels = np.stack([rng.permutation(30)[:14] for _ in range(5)])
    labels[1, 9:] = -1
    scores = rng.normal(size=labels.shape).astype(np.float32)
    found = Context.of(sp.csr_matrix(Y)).evidence(labels, scores)
    counts, together = Y.sum(axis=0), Y.T @ Y
    for i in range(len(labels)):
        chances = np.where(labels[i] < 0, 0, 1 / (1 + np.exp(-scores[i])))
        likely = [t for t in np.argsort(-chances)[:10] if labels[i, t] >= 0]
        for j, label in enumerate(labels[i]):
            others = [(chances[t], labels[i, t]) for t in likely if t != j and label >= 0]
            brought = sum(p * together[k, label] / (counts[k] + 1) for p, k in others)
            without = sum(p * (1 - together[k, label] / (counts[label] + 1)) for p, k in others)
            np.testing.assert_allclose(found[i, j], [np.log(brought + 1e-3), -without], rtol=1e-4, atol=1e-5)


def test_a_taxonomy_is_told_by_its_labels_together() -> None:
    judge, context, labels, evidence, truth = _judge()
    assert judge.names == ("a", *OTHERS)
    first = truth[np.arange(len(truth)), judge.first(evidence).argmax(axis=1)].mean()
    both = truth[np.arange(len(truth)), judge.log_odds(labels, evidence, context).argmax(axis=1)].mean()
    assert both > first + 0.03


def test_labels_that_are_drawn_apart_say_nothing_of_each_other() -> None:
    rng = np.random.default_rng(3)
    truth, others = rng.random((1500, 25)) < 0.1, rng.random((3000, 25)) < 0.1
    evidence = (1.5 * truth + rng.normal(size=truth.shape)).astype(np.float32)[:, :, None]
    labels, context = np.tile(np.arange(25), (1500, 1)), Context.of(sp.csr_matrix(others, dtype=np.float32))
    judge = learnt_judge(labels, evidence, truth, context)
    assert judge.second is None
    np.testing.assert_array_equal(judge.log_odds(labels, evidence, context), judge.first(evidence))


def test_too_few_points_have_no_second_blend() -> None:
    assert _judge(150)[0].second is None


def test_points_with_very_many_labels_are_not_counted() -> None:
    wide = sp.csr_matrix(np.ones((3, 200), dtype=np.float32))
    one = sp.csr_matrix(([1.0, 1.0], ([0, 0], [3, 7])), shape=(1, 200))
    context = Context.of(sp.csr_matrix(sp.vstack([wide, one])))
    assert context.together.nnz == 4
    assert context.counts.sum() == 2


def test_facts_come_back_and_damaged_ones_are_refused() -> None:
    judge, context, labels, evidence, _ = _judge()
    again = Judge.from_facts(judge.facts(), ["a"])
    np.testing.assert_array_equal(again.log_odds(labels, evidence, context), judge.log_odds(labels, evidence, context))
    facts = judge.facts()
    for damaged in ([], {}, {"first": 3}, {**facts, "second": "x"}, {**facts, "second": facts["first"]}):
        with pytest.raises(ModelFileError):
            Judge.from_facts(damaged, ["a"])
