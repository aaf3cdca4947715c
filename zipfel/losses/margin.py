"""GLaS's margin losses: a relevant label must beat every irrelevant one by c."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def sampled_margin(
    positive: Tensor, candidates: Tensor, negative: Tensor, margin: float, *, average: bool = False
) -> Tensor:
    """Eq. 1 of Guo et al. for one drawn label a row: the sum over negatives of [h_y' - h_y + c]_+, then the mean over
    rows.

    positive: (B,) score of each row's sampled relevant label.
    candidates: (B, C) scores of the candidates; negative: (B, C) bool, false where a candidate is relevant.
    average: divide each row's sum by its number of negatives.
    """
    losses = _hinge(positive, candidates, negative, margin).sum(dim=1)
    return (losses / negative.sum(dim=1).clamp(min=1) if average else losses).mean()


def stochastic_negative_mining(
    positive: Tensor, candidates: Tensor, negative: Tensor, margin: float, hardest: int
) -> Tensor:
    """Reddi et al. 2019: the mean of the same hinge over the `hardest` top-scoring negatives of the sample."""
    hinge = _hinge(positive, candidates, negative, margin)
    count = min(hardest, hinge.shape[1])
    mined = hinge.topk(count, dim=1).values  # (B, hardest)
    return (mined.sum(dim=1) / negative.sum(dim=1).clamp(min=1, max=count)).mean()


def pairwise_margin(scores: Tensor, relevant: Tensor, margin: float, *, average: bool = False) -> Tensor:
    """Eq. 1 whole: the sum over a row's relevant labels y and its others y' of [h_y' - h_y + c]_+, then the mean over
    rows; a row without a pair costs nothing.

    scores, relevant: (B, C), relevant 1 or 0. average: divide each row's sum by its number of pairs.
    """
    loss: Tensor = _Pairwise.apply(scores, relevant, margin, average)  # type: ignore[no-untyped-call]
    return loss


class _Pairwise(torch.autograd.Function):
    """One relevant label a row at a time: memory holds (B, C) numbers, not (B, P, C). The gradient is counted along."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, relevant: Tensor, margin: float, average: bool) -> Tensor:
        positive, negative = relevant > 0, relevant == 0
        pairs = (positive.sum(dim=1) * negative.sum(dim=1)).clamp(min=1)  # (B,)
        pairs = pairs if average else torch.ones_like(pairs)
        ranks = positive.cumsum(dim=1) * positive  # (B, C): the first relevant label of a row is 1, and so on
        grad, losses = torch.zeros_like(scores), scores.new_zeros(len(scores))
        for rank in range(1, int(ranks.max()) + 1 if ranks.numel() else 1):
            at = ranks == rank
            own = (scores * at).sum(dim=1, keepdim=True)  # (B, 1)
            gap = scores - own + margin
            violated = ((gap > 0) & negative & at.any(dim=1, keepdim=True)).to(scores.dtype)
            losses += (gap * violated).sum(dim=1)
            grad += violated - at * violated.sum(dim=1, keepdim=True)
        ctx.save_for_backward(grad / (pairs[:, None] * max(1, len(scores))))
        return (losses / pairs).mean()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        (found,) = ctx.saved_tensors
        return found * grad, None, None, None


def _hinge(positive: Tensor, candidates: Tensor, negative: Tensor, margin: float) -> Tensor:
    """(B, C): [h_y' - h_y + c]_+, and 0 where the candidate is no negative."""
    violation = (candidates - positive[:, None] + margin).clamp(min=0)
    return torch.where(negative, violation, torch.zeros_like(violation))
