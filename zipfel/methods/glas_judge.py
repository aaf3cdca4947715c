"""GLaS as a judge among others (`opinions`): its score h(x)_y."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.ranking import Ranking

Codes = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]


class Scorer(Protocol):
    """GLaS itself: codes, its best labels for them, and its scores of labels that it knows."""

    priors_: npt.NDArray[Any]

    def encode(self, X: sp.csr_matrix) -> Codes: ...

    def search(self, codes: Codes, k: int) -> Ranking: ...

    def scores(self, codes: Codes, labels: Ids) -> Codes: ...


class Judge:
    names = ("score",)
    vote_names = ()

    def __init__(self, glas: Scorer) -> None:
        self._glas = glas

    def encode(self, X: sp.csr_matrix) -> Codes:
        return self._glas.encode(X)

    def best(self, codes: Codes, width: int) -> Ids:
        return self._glas.search(codes, width).labels

    def votes(self, codes: Codes, width: int) -> None:
        """Nobody votes by codes."""

    def knows(self, labels: Ids) -> npt.NDArray[np.bool_]:
        return (labels >= 0) & (self._glas.priors_[labels] > 0)

    def opinions(self, codes: Codes, labels: Ids) -> Sequence[Codes]:
        return [self._glas.scores(codes, labels)]
