"""Candidate sets: the labels that a batch is scored against, instead of all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor


@dataclass(frozen=True)
class Candidates:
    """The labels that all rows of a batch are scored against, by one matrix product.

    They include every label of every row of the batch. All pairs outside `rows, columns` are therefore true negatives.
    """

    labels: Tensor  # (c,) int64, distinct label ids
    rows: Tensor  # (p,) int64, batch row of each positive
    columns: Tensor  # (p,) int64, its column in `labels`
    inclusion: Tensor  # (c,) float32, probability that a label gets in besides as a row's own positive

    def to(self, device: torch.device) -> Candidates:
        labels, rows, columns, inclusion = (
            tensor.to(device) for tensor in (self.labels, self.rows, self.columns, self.inclusion)
        )
        return Candidates(labels, rows, columns, inclusion)

    def of_rows(self, first: int, last: int) -> Candidates:
        """The same labels for the batch's rows from `first` to `last`, which count from 0 then."""
        mine = (self.rows >= first) & (self.rows < last)
        return Candidates(self.labels, self.rows[mine] - first, self.columns[mine], self.inclusion)

    def targets(self, n_rows: int) -> Tensor:
        """(B, c) float32 ones at the positives."""
        Y = torch.zeros(n_rows, len(self.labels), device=self.labels.device)
        Y[self.rows, self.columns] = 1.0
        return Y


class CandidateSampler:
    """Draws candidate sets: all labels of the batch's rows (so each row's positives are the others' in-batch
    negatives), `n_sampled` labels drawn by frequency**power, and `n_hard` labels a row from its shortlist.

    power: 0 draws uniformly from the labels seen in train, 1 by frequency. With at most `all_below` labels
    nothing is drawn: every seen label is a candidate of every row.
    shortlist: (n_points, k) label ids for each training point, -1 pads. A method may replace it between epochs.
    """

    def __init__(
        self, Y: sp.csr_matrix, *, n_sampled: int, power: float = 0.0, n_hard: int = 0, all_below: int = 0
    ) -> None:
        counts = np.bincount(Y.indices, minlength=Y.shape[1]).astype(np.float64)
        seen = np.flatnonzero(counts)
        self.n_labels, self.n_hard, self.all_seen = int(Y.shape[1]), n_hard, None
        self.shortlist: npt.NDArray[np.integer] | None = None
        if len(seen) <= max(all_below, n_sampled):
            self.all_seen = seen
        weight = np.where(counts > 0, counts, 1.0) ** power * (counts > 0)
        self._n_sampled = n_sampled if len(seen) else 0
        self._share = weight / max(weight.sum(), 1e-30)  # (n_labels,)
        self._edges = np.cumsum(self._share)
        self._frequency = counts / max(1, Y.shape[0])

    def width(self, batch: int) -> int:
        """About how many candidates a batch of so many points gets at most; for memory estimates."""
        if self.all_seen is not None:
            return len(self.all_seen)
        hard = 0 if self.n_hard == 0 else batch * self.n_hard
        return min(self.n_labels, int(self._n_sampled + hard + batch * self._frequency.sum()))

    def draw(self, rows: npt.NDArray[np.int64], Y: sp.csr_matrix, rng: np.random.Generator) -> Candidates:
        """For the batch of train's points `rows`, whose labels are Y (B, n_labels)."""
        labels = self._labels(rows, Y, rng)
        place = np.full(self.n_labels, -1, dtype=np.int64)
        place[labels] = np.arange(len(labels))
        return Candidates(
            labels=torch.from_numpy(labels),
            rows=torch.from_numpy(np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))),
            columns=torch.from_numpy(place[Y.indices]),
            inclusion=torch.from_numpy(self._inclusion(labels, Y.shape[0])),
        )

    def _labels(self, rows: npt.NDArray[np.int64], Y: sp.csr_matrix, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """(c,) sorted distinct ids."""
        chosen = np.zeros(self.n_labels, dtype=bool)
        chosen[Y.indices] = True
        if self.all_seen is not None:
            chosen[self.all_seen] = True
        elif self._n_sampled:
            drawn = np.searchsorted(self._edges, rng.random(self._n_sampled) * self._edges[-1], side="right")
            chosen[np.minimum(drawn, self.n_labels - 1)] = True
        if self.n_hard and self.shortlist is not None and self.all_seen is None:
            chosen[self._hard(rows, rng)] = True
        return np.flatnonzero(chosen)

    def _hard(self, rows: npt.NDArray[np.int64], rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """`n_hard` labels of each row's shortlist."""
        assert self.shortlist is not None
        mine = self.shortlist[rows]  # (B, k)
        if mine.shape[1] > self.n_hard:
            columns = rng.integers(0, mine.shape[1], size=(len(rows), self.n_hard))
            mine = np.take_along_axis(mine, columns, axis=1)
        flat: npt.NDArray[np.int64] = mine.ravel().astype(np.int64)
        return flat[flat >= 0]

    def _inclusion(self, labels: npt.NDArray[np.int64], batch: int) -> npt.NDArray[np.float32]:
        """P(label is drawn, or is a label of one of the batch's other rows); hard ones are not counted."""
        if self.all_seen is not None:
            return np.ones(len(labels), dtype=np.float32)
        missed = (1.0 - self._share[labels]) ** self._n_sampled * (1.0 - self._frequency[labels]) ** max(batch - 1, 0)
        found: npt.NDArray[np.float32] = np.maximum(1.0 - missed, 1e-6).astype(np.float32)
        return found
