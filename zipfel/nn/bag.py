"""The weighted bag: each sparse row becomes the weighted sum (or mean) of the table rows that it names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor

from zipfel.kernels.bag import localise, sum_into
from zipfel.kernels.choice import runs_kernels

Array = npt.NDArray[Any]
_CPU = torch.device("cpu")


@dataclass(frozen=True)
class LocalRows:
    """B sparse rows whose columns are renumbered to the u that occur; column c is row ids[c] of the whole table.

    Both orders are kept (by row, and transposed by column), so that forward and backward each write every
    output row once.
    """

    ids: Tensor  # (u,) int64
    indptr: Array  # (B + 1,) int64
    indices: Array  # (nnz,) int32, local
    values: Array  # (nnz,) float32
    by_indptr: Array  # (u + 1,) int64
    by_indices: Array  # (nnz,) int32, rows of the batch
    by_values: Array  # (nnz,) float32
    device: torch.device = _CPU  # of `ids` and of the tensors below; the arrays are for the kernels

    @classmethod
    def from_csr(cls, rows: sp.csr_matrix) -> LocalRows:
        """Any block of sparse rows, e.g. X[batch] or Y[batch]."""
        indptr, values = rows.indptr.astype(np.int64), rows.data.astype(np.float32, copy=False)
        place = np.full(rows.shape[1], -1, dtype=np.int32)
        ids, indices, *transposed = localise(indptr, rows.indices.astype(np.int64, copy=False), values, place)
        return cls(torch.from_numpy(ids), indptr, indices, values, *transposed)

    def to(self, device: torch.device) -> LocalRows:
        return self if device == self.device else replace(self, ids=self.ids.to(device), device=device)

    @property
    def n_rows(self) -> int:
        return len(self.indptr) - 1

    @property
    def counts(self) -> Array:
        """(B,) stored values a row."""
        return np.diff(self.indptr)

    @cached_property
    def row_of(self) -> Tensor:
        """(nnz,) int64: the batch row of each stored value, as a scatter wants it."""
        return torch.from_numpy(np.repeat(np.arange(self.n_rows), self.counts)).to(self.device)

    @cached_property
    def column_of(self) -> Tensor:
        """(nnz,) int64: the local column of each stored value."""
        return torch.from_numpy(self.indices.astype(np.int64)).to(self.device)

    @cached_property
    def weights(self) -> Tensor:
        """(nnz,) float32: the stored values."""
        return torch.from_numpy(self.values).to(self.device)


def bag(table: Tensor, rows: LocalRows, *, mode: str = "sum") -> Tensor:
    """(B, dim): sum of values * table[local column] per row; "mean" divides by the number of stored values.

    table: (u, dim) rows gathered for `rows.ids`. A row without features gives zeros.
    """
    total: Tensor = _Bag.apply(table, rows) if runs_kernels(table) else bag_plain(table, rows)  # type: ignore[no-untyped-call]
    if mode == "sum":
        return total
    counts = torch.from_numpy(np.maximum(rows.counts, 1).astype(np.float32)).to(table.device)
    return total / counts[:, None]


def bag_plain(table: Tensor, rows: LocalRows) -> Tensor:
    """The same sum by torch alone: the path on other devices, and what the kernel must equal."""
    weighted = table.index_select(0, rows.column_of) * rows.weights[:, None]
    return table.new_zeros(rows.n_rows, table.shape[1]).index_add(0, rows.row_of, weighted)


class _Bag(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: Tensor, rows: LocalRows) -> Tensor:
        ctx.rows = rows
        out = np.empty((rows.n_rows, table.shape[1]), dtype=np.float32)
        sum_into(rows.indptr, rows.indices, rows.values, table.detach().contiguous().numpy(), out)
        return torch.from_numpy(out)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        rows: LocalRows = ctx.rows
        out = np.empty((len(rows.ids), grad.shape[1]), dtype=np.float32)
        sum_into(rows.by_indptr, rows.by_indices, rows.by_values, grad.contiguous().numpy(), out)
        return torch.from_numpy(out), None
