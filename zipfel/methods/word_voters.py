"""Training points that vote because they share a document's words: no training, and no word is squeezed into a code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.index.blend import Found
from zipfel.index.choice import choose_votes
from zipfel.index.joined_votes import Finder
from zipfel.linear import damped
from zipfel.methods.base import Points
from zipfel.neighbors.words import WordIndex
from zipfel.ranking import PAD

DAMPINGS = (1.0, 0.6)
"""Powers of the feature values that are tried. One rare word can drown the others, unless the weights are sub-linear
already: on held-out points 1 has 0.7 points of P@1 more than 0.6 on eurlex57k, and on bibtex and debian-tags 1.0 and
4.3 less than 0.5."""
_ASKED = 80
"""Neighbours that a damping is judged by."""


@dataclass(frozen=True)
class WordVoters:
    """The voters' words, and the power to which feature values count."""

    memory: WordIndex
    damping: float

    @classmethod
    def of(cls, X: sp.csr_matrix, damping: float) -> WordVoters:
        """X: (n, n_features); row i is voter i."""
        return cls(WordIndex.build(damped(X, damping), np.ones(X.shape[0], dtype=bool)), damping)

    @classmethod
    def chosen(cls, train: Points, held: Points) -> WordVoters:
        """The voters of train with the damping by which they alone are best on the held-out points."""
        tried = [cls.of(train.X, damping) for damping in DAMPINGS]

        def quality(voters: WordVoters) -> float:
            near = voters.finder(held.X)(0, held.n_points, _ASKED)
            return choose_votes(*near, train.Y, held.Y)[1]

        return max(tried, key=quality)

    def finder(self, X: sp.csr_matrix) -> Finder:
        """Who finds the neighbours of X's rows."""
        rows = damped(X, self.damping)

        def find(start: int, stop: int, m: int) -> Found:
            ids, cosines = self.memory.search(rows[start:stop], m)
            return ids, np.where(ids == PAD, np.float32(-np.inf), cosines)

        return find

    def state(self) -> dict[str, npt.NDArray[Any]]:
        return {"damping": np.array([self.damping]), **self.memory.state()}

    @classmethod
    def restored(cls, arrays: Mapping[str, npt.NDArray[Any]], n_points: int, n_features: int) -> WordVoters:
        """The counterpart of `state`."""
        found = [damping for damping in DAMPINGS if np.array_equal(arrays.get("damping", []), [damping])]
        memory = WordIndex.restored(arrays, n_points, n_features)
        if not found:
            raise ValueError("the damping of the words that vote")
        return cls(memory, found[0])
