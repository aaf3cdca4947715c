"""Rank-AE's marginal ranking loss (Wang et al. 2019, Eq. 2-4), linear in the number of labels."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from zipfel.kernels.choice import runs_kernels
from zipfel.kernels.marginal_rank import NEGATIVE, POSITIVE, marginal_rank


def marginal_ranking(scores: Tensor, truth: Tensor, margin: float, *, hardest: bool = True) -> Tensor:
    """Loss of each row (n,): every negative against the lowest positive, every positive against the highest negative.

    L_P = sum_n max_p (m + y'_n - y'_p)_+     Eq. 3: the maximum over p is at the lowest positive
    L_N = sum_p max_n (m + y'_n - y'_p)_+     Eq. 4: the maximum over n is at the highest negative

    scores: (n, c). truth: (n, c) int8, 1 positive, 0 negative, -1 not counted. A row without a positive, or without a
    negative, costs nothing. hardest: take both maxima, as in the paper. Otherwise both are means, and the gradient is
    spread over several labels.
    """
    if not runs_kernels(scores):
        return marginal_ranking_plain(scores, truth, margin, hardest=hardest)
    losses: Tensor = _MarginalRanking.apply(scores, truth, margin, hardest)  # type: ignore[no-untyped-call]
    return losses


def marginal_ranking_plain(scores: Tensor, truth: Tensor, margin: float, *, hardest: bool = True) -> Tensor:
    """The same by torch alone: the path on other devices, and what the kernel must equal."""
    positive, negative = truth == POSITIVE, truth == NEGATIVE
    counts = torch.where(positive.any(dim=1) & negative.any(dim=1), 1, 0)  # (n,) rows that count
    if hardest:
        lowest = scores.masked_fill(~positive, torch.inf).min(dim=1, keepdim=True).values
        highest = scores.masked_fill(~negative, -torch.inf).max(dim=1, keepdim=True).values
        low = (margin + scores - torch.where(counts[:, None] > 0, lowest, 0)).relu() * negative  # Eq. 3
        high = (margin + torch.where(counts[:, None] > 0, highest, 0) - scores).relu() * positive  # Eq. 4
        return (low + high).sum(dim=1) * counts
    rows, columns = positive.nonzero(as_tuple=True)  # (p,)
    gaps = ((margin + scores[rows] - scores[rows, columns][:, None]).relu() * negative[rows]).sum(dim=1)  # (p,)
    weight = 1 / positive.sum(dim=1).clamp(min=1) + 1 / negative.sum(dim=1).clamp(min=1)  # (n,)
    return scores.new_zeros(len(scores)).index_add(0, rows, gaps) * weight * counts


class _MarginalRanking(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor, truth: Tensor, margin: float, hardest: bool) -> Tensor:
        arrays = scores.detach().contiguous().numpy(), truth.contiguous().numpy()
        losses, gradient = marginal_rank(*arrays, margin, hardest=hardest)
        ctx.save_for_backward(torch.from_numpy(gradient))
        return torch.from_numpy(losses)

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, None, None, None]:
        (gradient,) = ctx.saved_tensors
        return gradient * upstream[0][:, None], None, None, None
