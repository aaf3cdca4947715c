"""Which points auto holds out, and what it learns there: whom to believe, if a forest pays, a bonus for rare labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.calibration import RANKS, HeldOutRanking
from zipfel.data.splitting import held_out_runs
from zipfel.evidence.blend import Blend, is_true
from zipfel.evidence.context import FRONT, Context, Judge, precisions
from zipfel.methods.base import Points
from zipfel.neighbors.forest import Forest
from zipfel.run import Run

Array = npt.NDArray[Any]
_FEW, _HELD = 20, 3000
"""Points below which none is held out; and how many are at most."""
_SHARE, _ENOUGH, _LARGEST = 0.12, 400, 0.25
"""Of train that is held out; fewer points than so many are not enough for a blend, up to the largest share."""
TAILS = (0.0, 0.1, 0.2, 0.3, 0.4)
_PROVEN = 600
"""Bonuses for rare labels that are tried; held-out points from which on all of them are, of fewer only the lower ones:
what a bonus costs can't be seen there."""
DEAR, _WORTH = 20_000, 0.001
"""Points from which on a forest, which then takes megabytes, has to bring this much of the mean of P@1, P@3 and P@5."""


def with_held_out(train: Points, valid: Points | None, share: float | None, run: Run) -> tuple[Points, Array]:
    """All points, and which rows of them the blend is learnt on: those of `valid`, or a share of train; all, where they
    are too few to hold any out. share: none for the usual one, more where that leaves few to learn from."""
    n = train.n_points
    if valid is not None and valid.n_points:
        valid = Points(valid.X, valid.Y[:, : train.n_labels])
        return train.joined(valid), np.arange(n, n + valid.n_points)
    if n < _FEW:
        return train, np.arange(n)
    wanted = round(n * share) if share else max(round(n * _SHARE), min(_ENOUGH, round(n * _LARGEST)))
    return train, held_out_runs(n, max(1, min(wanted, _HELD)), run.rng(20))


@dataclass(frozen=True)
class HeldOut:
    """What the parts say of held-out points. names: (f,) of the kinds of evidence; labels: (n, c) candidates, -1 pads;
    evidence: (n, c, f); truth: (n, n_labels); rarity: (n_labels,) what a bonus of 1 adds to a label; n_points: in
    train."""

    names: Sequence[str]
    labels: Array
    evidence: Array
    truth: sp.csr_matrix
    rarity: Array
    n_points: int


def learn_judge(held: HeldOut, context: Context | None, tail: float | None, *, products: bool) -> tuple[Judge, float]:
    """The blend of the evidence, without a forest's of many points where that does not pay, and a bonus for rare
    labels; tail: what it is to be. Evidence never counts against a label in a blend, but for its frequency; products:
    whether two kinds of it together have a say of their own."""
    names, labels, hits = held.names, held.labels, is_true(held.labels, held.truth)
    doubted = Forest.OPINIONS if held.n_points > DEAR else ()
    known, kept = labels >= 0, [name not in doubted for name in names]
    monotone = [name for name in names if name != "frequency"]

    def joined(used: Sequence[bool]) -> tuple[Blend, Array]:
        its_names = [name for name, is_used in zip(names, used, strict=True) if is_used]
        evidence = held.evidence if all(used) else held.evidence[:, :, used]
        return Blend.fit_top(its_names, evidence, hits, known, monotone=monotone), evidence

    def quality(blend: Blend, evidence: Array) -> float:
        return float(precisions(np.where(known, blend(evidence), -np.inf), hits).mean())

    blend, evidence = joined([True] * len(names))
    if not all(kept):
        bare = joined(kept)
        if quality(blend, evidence) - quality(*bare) < _WORTH:
            blend, evidence = bare
    judge = Judge.fit(blend.names, labels, evidence, hits, context, monotone=monotone, first=blend)
    if products:
        judge = judge.with_products(labels, evidence, hits, context)
    if tail is None:
        scores = np.where(known, judge(labels, evidence, context), -np.inf)
        tail = largest_bonus(labels, scores, held.rarity, hits)
    return judge, tail


def ranked_held_out(
    held: HeldOut, judge: Judge, context: Context | None, tail: float, Y: sp.csr_matrix
) -> HeldOutRanking:
    """The held-out points' best labels, which calibrate scores. Y: labels of the points that the parts had seen."""
    used = [name in judge.first.names for name in held.names]
    evidence = held.evidence if all(used) else held.evidence[:, :, used]
    scores = np.where(held.labels >= 0, judge(held.labels, evidence, context), np.float32(-np.inf))
    ranked = scores + np.float32(tail) * held.rarity[held.labels]
    best = np.argsort(-ranked, axis=1, kind="stable")[:, :RANKS]
    labels, scores = (np.take_along_axis(part, best, axis=1) for part in (held.labels, scores))
    return HeldOutRanking(
        labels,
        scores,
        is_true(labels, held.truth),
        np.bincount(Y.indices, minlength=Y.shape[1])[labels],
        np.diff(held.truth.indptr),
    )


def largest_bonus(labels: Array, scores: npt.NDArray[np.float32], rarity: Array, hits: Array) -> float:
    """The largest bonus for rare labels that costs at most 0.1 points of the mean of P@1, P@3 and P@5; not above what
    so many points can prove.

    labels: (n, c) candidates, -1 pads; scores: theirs, -inf there; rarity: (n_labels,) what a bonus of 1 adds; hits:
    (n, c) which of them are true."""
    tails = [tail for tail in TAILS if tail * _PROVEN <= max(TAILS) * len(labels)]
    front = np.argpartition(-scores, min(FRONT, scores.shape[1]) - 1, axis=1)[:, :FRONT]
    scores, hits = (np.take_along_axis(part, front, axis=1) for part in (scores, hits))
    bonus = rarity[np.take_along_axis(labels, front, axis=1)]
    found = [precisions(scores + np.float32(tail) * bonus, hits).mean() for tail in tails]
    return max(tail for tail, got in zip(tails, found, strict=True) if got >= max(found) - 0.001)
