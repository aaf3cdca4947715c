"""Kernel ridge regression onto the labels: its scores are evidence, and its codes find neighbours.

The equations are in `neighbors/regression.py`. The final fit adds the points that were held out to the sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from zipfel.evidence.part import Codes, Fold
from zipfel.evidence.parts.space import SpacePart
from zipfel.neighbors.regression import Kernel, Landmarks, RegressionConfig, RegressionEncoder
from zipfel.neighbors.space import Space

_KEPT = 50_000_000
"""Kernel values of all points and landmarks, up to which they are kept for the second fit (200 MB)."""
_BLOCK = 2048


@dataclass(frozen=True)
class _Learnt:
    """sums: over the points that were learnt from; of_points: (n, landmarks) kernel values of all points, if kept."""

    sums: Landmarks
    of_points: Codes | None
    is_summed: Any


@dataclass(frozen=True)
class RegressionPart(SpacePart):
    name = "regression"
    title = "kernel ridge regression onto the labels, and neighbours by its codes"
    Config = RegressionConfig
    Encoder = RegressionEncoder
    votes = RegressionEncoder.VOTES

    @classmethod
    def fit(cls, config: RegressionConfig, fold: Fold, before: RegressionPart | None) -> RegressionPart:
        points = fold.points
        if before is None or before.learnt is None:
            first = fold.learnt_from
            sums = Landmarks(config, first.X, first.Y, fold.run, np.unique(points.Y.indices))
            of_points, summed = _kernel_values(sums.kernel, points.X), np.zeros(points.n_points, dtype=bool)
        else:
            sums, of_points, summed = before.learnt.sums, before.learnt.of_points, before.learnt.is_summed
        rows = np.flatnonzero(fold.seen & ~summed)
        for a in range(0, len(rows), _BLOCK):
            part = rows[a : a + _BLOCK]
            sums.add(points.X[part], points.Y[part], None if of_points is None else of_points[part])
        encoder = sums.encoder()
        codes = encoder.encode(points.X, of_points)
        space = Space.build(encoder, codes, points.Y, fold.voters, exact=not fold.is_final)
        return cls(space, None if fold.is_final else _Learnt(sums, of_points, summed | fold.seen))


def _kernel_values(kernel: Kernel, X: Any) -> Codes | None:
    """(n, landmarks), unless that is too much to keep."""
    if X.shape[0] * len(kernel.rows) > _KEPT:
        return None
    found = np.empty((X.shape[0], len(kernel.rows)), dtype=np.float32)
    for a in range(0, X.shape[0], _BLOCK):
        found[a : a + _BLOCK] = kernel(X[a : a + _BLOCK])
    return found
