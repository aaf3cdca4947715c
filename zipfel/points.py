"""Feature rows with their labels: what everything here learns from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp


@dataclass(frozen=True)
class Points:
    """Feature rows with their labels: what a method learns from or is validated on."""

    X: sp.csr_matrix
    Y: sp.csr_matrix

    @property
    def n_points(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    @property
    def n_labels(self) -> int:
        return int(self.Y.shape[1])

    def take(self, rows: npt.NDArray[np.intp]) -> Points:
        return Points(self.X[rows], self.Y[rows])

    def joined(self, others: Points) -> Points:
        """These rows and then the others'."""
        X, Y = (sp.vstack([mine, theirs], format="csr") for mine, theirs in ((self.X, others.X), (self.Y, others.Y)))
        return Points(X, Y)

    def split(self, share: float, rng: np.random.Generator, at_most: int | None = None) -> tuple[Points, Points]:
        """(rest, held out): a random share of the rows, at most `at_most`, at least one of each where there are two."""
        held = max(1, min(round(self.n_points * share), at_most or self.n_points))
        order = rng.permutation(self.n_points)
        return self.take(np.sort(order[held:])), self.take(np.sort(order[:held]))
