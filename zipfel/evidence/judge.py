"""The judge: one model that joins all evidence for a (document, label) pair into one score.

    first    a logistic regression on the evidence; evidence counts only for a label, except in the columns `can_oppose`
    second   the same with evidence of the other likely labels, if it ranks held-out points better
    products products of two kinds of evidence, added to the score of the best candidates
    bonus    t log(1/p_l), added for rare labels in the order, but not in probabilities

All of it is learnt on held-out points, with parts that have not seen them. The equations are in `linear/blend.py`,
`context.py` and `products.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.calibration import RANKS, HeldOutRanking
from zipfel.errors import ModelFileError
from zipfel.evidence import rules
from zipfel.evidence.comparing import mean_and_error, precisions
from zipfel.evidence.context import FRONT, OTHERS, Context, learn_with_context
from zipfel.evidence.products import Products
from zipfel.linear.blend import Blend, is_true

Array = npt.NDArray[Any]
BONUSES = (0.0, 0.1, 0.2, 0.3, 0.4)
"""Bonuses for rare labels that are tried."""
COST = 0.001
"""Of the mean of P@1, P@3 and P@5 that a bonus may cost."""
_MOST_BONUS = 1e6
"""That a model file may have."""


@dataclass(frozen=True)
class HeldOut:
    """All evidence for held-out points. names: (f,) of the columns; labels: (n, c) candidates, -1 pads; evidence:
    (n, c, f); truth: (n, n_labels); counts, rarity: (n_labels,) of the points that the parts had seen, and what a bonus
    of 1 adds; can_oppose: columns that may count against a label."""

    names: Sequence[str]
    labels: Array
    evidence: Array
    truth: sp.csr_matrix
    counts: Array
    rarity: Array
    can_oppose: frozenset[str]

    @property
    def hits(self) -> npt.NDArray[np.bool_]:
        return is_true(self.labels, self.truth)

    @property
    def monotone(self) -> list[str]:
        return [name for name in self.names if name not in self.can_oppose]

    def only(self, columns: Sequence[int]) -> HeldOut:
        if len(columns) == len(self.names):
            return self
        names = [self.names[i] for i in columns]
        evidence = np.ascontiguousarray(self.evidence[:, :, list(columns)])
        return HeldOut(names, self.labels, evidence, self.truth, self.counts, self.rarity, self.can_oppose)

    def take(self, rows: Array) -> HeldOut:
        own = self.labels[rows], self.evidence[rows], self.truth[rows]
        return HeldOut(self.names, *own, self.counts, self.rarity, self.can_oppose)


@dataclass(frozen=True)
class Judge:
    first: Blend
    second: Blend | None = None
    products: Products | None = None
    bonus: float = 0.0

    @classmethod
    def fit(
        cls,
        held: HeldOut,
        context: Context | None,
        *,
        products: bool = True,
        bonus: float | None = None,
        start: Blend | None = None,
    ) -> Judge:
        """context: None for no second blend; bonus: None for the largest that costs at most COST; start: what `first`
        starts from."""
        labels, evidence, hits, monotone = held.labels, held.evidence, held.hits, held.monotone
        first = Blend.fit_top(held.names, evidence, hits, labels >= 0, monotone=monotone, start=start)
        second = learn_with_context(first, context, labels, evidence, hits, monotone) if context else None
        judge = cls(first, second)
        if products:
            blend, wide = judge.in_context(labels, evidence, context)
            scores = np.where(labels >= 0, blend(wide), np.float32(-np.inf))
            judge = cls(first, second, Products.fit(scores, wide, hits))
        if bonus is None:
            scores = np.where(labels >= 0, judge.log_odds(labels, evidence, context), -np.inf)
            bonus = largest_bonus(labels, scores, held.rarity, hits)
        return cls(first, second, judge.products, bonus)

    @property
    def names(self) -> tuple[str, ...]:
        return (self.second or self.first).names

    def log_odds(self, labels: Array, evidence: Array, context: Context | None) -> npt.NDArray[np.float32]:
        """(n, c), without the bonus."""
        blend, evidence = self.in_context(labels, evidence, context)
        scores = blend(evidence)
        return scores if self.products is None else scores + self.by_products(labels, scores, evidence)

    def by_products(self, labels: Array, scores: Array, evidence: Array) -> npt.NDArray[np.float32]:
        """(n, c) what products add to scores by the evidence that `in_context` gives, labels with -1 as pads."""
        if self.products is None:
            return np.zeros(labels.shape, dtype=np.float32)
        return self.products.added(np.where(labels >= 0, scores, np.float32(-np.inf)), evidence)

    def in_context(self, labels: Array, evidence: Array, context: Context | None) -> tuple[Blend, Array]:
        """The blend that scores, and its evidence."""
        if self.second is None or context is None:
            return self.first, evidence
        return self.second, np.concatenate([evidence, context.evidence(labels, self.first(evidence))], axis=2)

    def ranked(self, held: HeldOut, context: Context | None) -> HeldOutRanking:
        """The held-out points' best labels, from which probabilities are learnt."""
        scores = self.log_odds(held.labels, held.evidence, context)
        scores = np.where(held.labels >= 0, scores, np.float32(-np.inf))
        ranked = scores + np.float32(self.bonus) * held.rarity[held.labels]
        best = np.argsort(-ranked, axis=1, kind="stable")[:, :RANKS]
        labels, scores = (np.take_along_axis(part, best, axis=1) for part in (held.labels, scores))
        n_true = np.diff(held.truth.indptr)
        return HeldOutRanking(labels, scores, is_true(labels, held.truth), held.counts[labels], n_true)

    def cross_ranked(self, held: HeldOut, context: Context | None) -> HeldOutRanking:
        """The same by judges that learnt from the other documents. For the documents that it learnt from, a judge's
        probabilities are too extreme, the more so the fewer they are."""
        n = len(held.labels)
        folds = np.array_split(np.arange(n), rules.judge_folds(n)) if n >= rules.CROSS_FROM else []
        if not folds:
            return self.ranked(held, context)
        found = []
        for rows in folds:
            others = held.take(np.setdiff1d(np.arange(n), rows))
            own = context if self.second else None
            judge = Judge.fit(others, own, products=self.products is not None, bonus=self.bonus, start=self.first)
            found.append(judge.ranked(held.take(rows), own))
        return HeldOutRanking.joined(found)

    def facts(self) -> dict[str, Any]:
        parts = {"first": self.first, "second": self.second, "products": self.products}
        return {name: part.facts() if part else None for name, part in parts.items()} | {"bonus": self.bonus}

    @classmethod
    def from_facts(cls, facts: Any, names: Sequence[str]) -> Judge:
        """The counterpart of `facts`; names: of the evidence that there will be."""
        if not isinstance(facts, Mapping) or "first" not in facts:
            raise ModelFileError("the judge in the model is damaged: it has no first blend")
        second, products, bonus = (facts.get(name) for name in ("second", "products", "bonus"))
        if isinstance(bonus, bool) or not isinstance(bonus, int | float) or not abs(bonus) <= _MOST_BONUS:
            raise ModelFileError(f"the judge in the model is damaged: a bonus of {bonus!r:.60}")
        first = Blend.from_facts(facts["first"], names)
        later = Blend.from_facts(second, [*names, *OTHERS]) if second is not None else None
        n_columns = len((later or first).names)
        together = Products.from_facts(products, n_columns) if products is not None else None
        return cls(first, later, together, float(bonus))


def largest_bonus(labels: Array, scores: npt.NDArray[np.float32], rarity: Array, hits: Array) -> float:
    """The largest bonus for rare labels that costs at most 0.1 points of the mean of P@1, P@3 and P@5, limited by what
    the number of points can show.

    labels: (n, c) candidates, -1 pads; scores: theirs, -inf there; rarity: (n_labels,) what a bonus of 1 adds; hits:
    (n, c) which of them are true."""
    bonuses = [bonus for bonus in BONUSES if bonus * rules.BONUS_FROM <= max(BONUSES) * len(labels)]
    front = np.argpartition(-scores, min(FRONT, scores.shape[1]) - 1, axis=1)[:, :FRONT]
    scores, hits = (np.take_along_axis(part, front, axis=1) for part in (scores, hits))
    added = rarity[np.take_along_axis(labels, front, axis=1)]
    found = [precisions(scores + np.float32(bonus) * added, hits) for bonus in bonuses]
    best = max(found, key=lambda got: float(got.mean()))
    return max(bonus for bonus, got in zip(bonuses, found, strict=True) if _costs_little(best - got))


def _costs_little(lost: npt.NDArray[np.float64]) -> bool:
    """Whether documents lose no more than COST, within a standard error."""
    mean, error = mean_and_error(lost)
    return mean <= COST + error
