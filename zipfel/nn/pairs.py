"""Scores of chosen (row, label) pairs of a batch: classifiers that train each row on its own shortlist."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from zipfel.kernels.bag import bag_sum
from zipfel.kernels.candidate_rows import localise_columns, merge_candidates, score_entries
from zipfel.kernels.choice import runs_kernels
from zipfel.system.threads import over_blocks

Array = npt.NDArray[Any]
_CPU = torch.device("cpu")


@dataclass(frozen=True)
class Pairs:
    """The m pairs of a batch of B rows, row by row; column c is row ids[c] of the whole label table.

    `order` lists the pairs by column, so that the backward pass writes each gradient row once.
    """

    ids: Tensor  # (u,) int64, distinct labels
    truth: Tensor  # (m,) float32, 1 for a positive
    ends: Array  # (B + 1,) int64
    columns: Array  # (m,) int32, local
    by_ends: Array  # (u + 1,) int64
    order: Array  # (m,) int64
    device: torch.device = _CPU

    @classmethod
    def of(cls, indptr: Array, positives: Array, shortlists: Array, n_labels: int) -> Pairs:
        """P_i and S_k(x_i) of each row: positives as CSR (indptr, positives), shortlists (B, k) with -1 for none.

        A label of both is a positive.
        """
        scratch = np.full(n_labels, -1, dtype=np.int32)
        ends, labels, truth = merge_candidates(indptr, positives, shortlists, scratch)
        ids, columns, by_ends, order = localise_columns(labels, scratch)
        return cls(torch.from_numpy(ids), torch.from_numpy(truth), ends, columns, by_ends, order)

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def n_rows(self) -> int:
        return len(self.ends) - 1

    def to(self, device: torch.device) -> Pairs:
        if device == self.device:
            return self
        return replace(self, ids=self.ids.to(device), truth=self.truth.to(device), device=device)

    @cached_property
    def row_of(self) -> Array:
        """(m,) int32: the batch row of each pair."""
        return np.repeat(np.arange(self.n_rows, dtype=np.int32), np.diff(self.ends))


def pair_scores(hidden: Tensor, labels: Tensor, pairs: Pairs) -> Tensor:
    """(m,) inner products of hidden (B, d) and labels (u, d) at the pairs, in m d steps, backward in twice that."""
    if not runs_kernels(hidden):
        return pair_scores_plain(hidden, labels, pairs)
    scores: Tensor = _PairScores.apply(hidden, labels, pairs)  # type: ignore[no-untyped-call]
    return scores


def pair_scores_plain(hidden: Tensor, labels: Tensor, pairs: Pairs) -> Tensor:
    """The same by torch alone: the path on other devices, and what the kernel must equal."""
    rows = torch.from_numpy(pairs.row_of.astype(np.int64)).to(hidden.device)
    columns = torch.from_numpy(pairs.columns.astype(np.int64)).to(hidden.device)
    return (hidden[rows] * labels[columns]).sum(dim=1)


class _PairScores(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, hidden: Tensor, labels: Tensor, pairs: Pairs) -> Tensor:
        left, right = (t.detach().contiguous().numpy() for t in (hidden, labels))
        out = np.empty(len(pairs), dtype=np.float32)
        over_blocks(
            lambda a, b: score_entries(pairs.ends, pairs.columns, left, right, out, a, b),
            pairs.n_rows,
            parts=None if out.size > 4096 else 1,
        )
        ctx.left, ctx.right, ctx.pairs = left, right, pairs
        return torch.from_numpy(out)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        pairs: Pairs = ctx.pairs
        values = grad.contiguous().numpy()
        by_row = _weighted(pairs.ends, pairs.columns, values, ctx.right)
        by_label = _weighted(pairs.by_ends, pairs.row_of[pairs.order], values[pairs.order], ctx.left)
        return torch.from_numpy(by_row), torch.from_numpy(by_label), None


def _weighted(ends: Array, columns: Array, values: Array, table: Array) -> Array:
    """(n, d): for each of the n lists the sum of values * table[column]."""
    out = np.empty((len(ends) - 1, table.shape[1]), dtype=np.float32)
    parts = None if values.size > 4096 else 1
    over_blocks(lambda a, b: bag_sum(ends, columns, values, table, out, a, b), len(out), parts=parts)
    return out
