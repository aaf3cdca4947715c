"""Regularisers of label vectors through their Gram matrix, without ever building it.

For b vectors of d numbers, ||V V'||_F = ||V'V||_F. The paper's (b, b) matrix is replaced by the (d, d) one, and only
non-zero targets U are visited. A batch's regulariser is O(b d^2 + nnz(U) d).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor


class _Distance(torch.autograd.Function):
    """||V V' - U||_F^2 and its gradient 4 (V V' - U) V, whose terms the forward pass computes already."""

    @staticmethod
    def forward(ctx: Any, V: Tensor, U: Tensor) -> Tensor:
        gram, pulled = V.T @ V, torch.sparse.mm(U, V)  # (d, d), (b, d)
        ctx.save_for_backward(V @ gram - pulled)
        cross = (pulled * V).sum()  # sum of u_ij <v_i, v_j> over what is stored
        distance: Tensor = gram.square().sum() - 2 * cross + U.values().square().sum()
        return distance

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        (away,) = ctx.saved_tensors
        return 4 * grads[0] * away, None


def glas(V: Tensor, U: Tensor, counts: Tensor | None = None) -> Tensor:
    """||V V' - U||_F^2 / B^2 (Guo et al., Eq. 3, on the labels of a batch).

    V: (b, d) label vectors, one a row. U: (b, b) sparse and symmetric, see `submatrix`. counts: (b,) how often each of
    them was drawn, B in all, by default once: a pair of labels then counts as often as it was drawn (Algorithm 2).
    """
    if counts is not None:
        root = counts.sqrt()
        rows, columns = U.indices()
        U = torch.sparse_coo_tensor(
            U.indices(), U.values() * root[rows] * root[columns], U.shape, is_coalesced=True, check_invariants=False
        )
    distance: Tensor = _Distance.apply(_repeated(V, counts), U)  # type: ignore[no-untyped-call]
    return distance / _size(V, counts) ** 2


def spread_out(V: Tensor, counts: Tensor | None = None) -> Tensor:
    """sum over pairs of <v_y, v_y'>^2 / B^2 (Eq. 2). V: (b, d); the diagonal is constant on the unit sphere."""
    repeated = _repeated(V, counts)
    return (repeated.T @ repeated).square().sum() / _size(V, counts) ** 2


def gravity(codes: Tensor, V: Tensor, counts: Tensor | None = None) -> Tensor:
    """mean over all (row, label) pairs of <phi(x), v_y>^2 (Krichene et al. 2018). codes: (B, d), V: (b, d)."""
    repeated = _repeated(V, counts)
    return ((codes.T @ codes) * (repeated.T @ repeated)).sum() / (len(codes) * _size(V, counts))


def _repeated(V: Tensor, counts: Tensor | None) -> Tensor:
    """Vectors whose squared inner products are those of V, as often as the labels were drawn."""
    return V if counts is None else V * counts.sqrt()[:, None]


def _size(V: Tensor, counts: Tensor | None) -> float:
    return float(len(V) if counts is None else counts.sum())


def submatrix(U: sp.csr_matrix, labels: npt.NDArray[np.integer], dtype: torch.dtype = torch.float32) -> Tensor:
    """(b, b) sparse tensor: U between the given labels, in their order. The cost is in proportion to the entries of
    these rows."""
    part = U[labels][:, labels].tocoo()
    places = torch.from_numpy(np.stack([part.row, part.col]).astype(np.int64))
    return torch.sparse_coo_tensor(
        places, torch.from_numpy(part.data).to(dtype), part.shape, is_coalesced=True, check_invariants=False
    )
