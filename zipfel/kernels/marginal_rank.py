"""Rank-AE's marginal ranking loss of each row, and its gradient, in one pass over the row's scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from zipfel.system.threads import over_blocks

POSITIVE, NEGATIVE, IGNORED = 1, 0, -1


def marginal_rank(
    scores: npt.NDArray[Any], truth: npt.NDArray[np.int8], margin: float, *, hardest: bool = True
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """(losses (n,), gradient (n, c)) of scores (n, c); truth (n, c) says POSITIVE, NEGATIVE or IGNORED.

    hardest: against the hardest label of the other kind, linear in c; else the mean over all of them, for which every
    pair is looked at.
    """
    kernel = _marginal_rank if hardest else _mean_rank
    losses = np.zeros(len(scores), dtype=scores.dtype)
    gradient = np.zeros_like(scores)

    def work(begin: int, end: int) -> None:
        kernel(scores, truth, scores.dtype.type(margin), losses, gradient, begin, end)

    over_blocks(work, len(scores))
    return losses, gradient


@njit(cache=True, nogil=True)
def _marginal_rank(scores, truth, margin, losses, gradient, begin, end):  # type: ignore[no-untyped-def]
    n_columns = scores.shape[1]
    for i in range(begin, end):
        lowest, highest = -1, -1  # the hardest positive and the hardest negative; on ties the first
        for j in range(n_columns):
            if truth[i, j] == POSITIVE and (lowest < 0 or scores[i, j] < scores[i, lowest]):
                lowest = j
            elif truth[i, j] == NEGATIVE and (highest < 0 or scores[i, j] > scores[i, highest]):
                highest = j
        if lowest < 0 or highest < 0:
            continue
        loss = margin * 0
        for j in range(n_columns):
            if truth[i, j] == NEGATIVE:  # Eq. 3
                gap = margin + scores[i, j] - scores[i, lowest]
                if gap > 0:
                    loss += gap
                    gradient[i, j] += 1
                    gradient[i, lowest] -= 1
            elif truth[i, j] == POSITIVE:  # Eq. 4
                gap = margin + scores[i, highest] - scores[i, j]
                if gap > 0:
                    loss += gap
                    gradient[i, j] -= 1
                    gradient[i, highest] += 1
        losses[i] = loss


@njit(cache=True, nogil=True)
def _mean_rank(scores, truth, margin, losses, gradient, begin, end):  # type: ignore[no-untyped-def]
    for i in range(begin, end):
        positives = np.flatnonzero(truth[i] == POSITIVE)
        negatives = np.flatnonzero(truth[i] == NEGATIVE)
        if len(positives) == 0 or len(negatives) == 0:
            continue
        weight = margin * 0 + 1 / len(positives) + 1 / len(negatives)  # of a pair, in both sums together
        for n in negatives:
            for p in positives:
                gap = margin + scores[i, n] - scores[i, p]
                if gap > 0:
                    losses[i] += weight * gap
                    gradient[i, n] += weight
                    gradient[i, p] -= weight
