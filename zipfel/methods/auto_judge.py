"""What auto learns on held-out points in the end: whom to believe, whether a forest pays, a bonus for rare labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.index.choice import CUTS, mean_precision
from zipfel.ranker.blend import Blend
from zipfel.ranker.context import Context, Judge, precisions
from zipfel.ranker.forest import Forest
from zipfel.ranking import Ranking

Array = npt.NDArray[Any]
TAILS = (0.0, 0.1, 0.2, 0.3, 0.4)
_PROVEN = 600
"""Bonuses for rare labels that are tried; held-out points from which on all of them are, of fewer only the lower ones:
what a bonus costs can't be seen there."""
_DEAR, _WORTH = 20_000, 0.001
"""Points from which on a forest, which then takes megabytes, has to bring this much of the mean of P@1, P@3 and P@5."""


def learn_judge(
    names: Sequence[str],
    labels: Array,
    evidence: Array,
    hits: Array,
    context: Context | None,
    n_points: int,
) -> tuple[Judge, list[bool]]:
    """The blend of evidence (n, c, f) about candidates (n, c), -1 pads, of which hits are true; and which of its f
    kinds it joins: a forest's of many points only where it pays. Evidence never counts against a label, but for its
    frequency."""
    doubted = Forest.OPINIONS if n_points > _DEAR else ()
    known, kept = labels >= 0, [name not in doubted for name in names]
    monotone = [name for name in names if name != "frequency"]

    def joined(used: Sequence[bool]) -> Blend:
        its_names = [name for name, is_used in zip(names, used, strict=True) if is_used]
        return Blend.fit_top(its_names, evidence[:, :, used], hits, known, monotone=monotone)

    def quality(blend: Blend, used: Sequence[bool]) -> float:
        return float(precisions(np.where(known, blend(evidence[:, :, used]), -np.inf), hits).mean())

    used = [True] * len(names)
    blend = joined(used)
    if not all(kept):
        bare = joined(kept)
        if quality(blend, used) - quality(bare, kept) < _WORTH:
            blend, used = bare, kept
    return Judge.fit(blend.names, labels, evidence[:, :, used], hits, context, monotone=monotone, first=blend), used


def largest_bonus(labels: Array, scores: npt.NDArray[np.float32], rarity: Array, truth: sp.csr_matrix) -> float:
    """The largest bonus for rare labels that costs at most 0.1 points of the mean of P@1, P@3 and P@5; not above what
    so many points can prove.

    labels: (n, c) candidates, -1 pads; scores: theirs, -inf there; rarity: (n_labels,) what a bonus of 1 adds."""
    tails = [tail for tail in TAILS if tail * _PROVEN <= max(TAILS) * len(labels)]
    found = []
    for tail in tails:
        ranking = Ranking.from_dense(scores + np.float32(tail) * rarity[labels], max(CUTS), labels)
        found.append(mean_precision(ranking, truth))
    return max(tail for tail, got in zip(tails, found, strict=True) if got >= max(found) - 0.001)
