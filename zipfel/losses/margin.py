"""GLaS's margin losses: a relevant label must beat every irrelevant one by c."""

from __future__ import annotations

import torch
from torch import Tensor


def sampled_margin(positive: Tensor, candidates: Tensor, negative: Tensor, margin: float) -> Tensor:
    """Eq. 1 of Guo et al. on sampled labels: the mean over negatives of [h_y' - h_y + c]_+, then over rows.

    positive: (B,) score of each row's sampled relevant label.
    candidates: (B, C) scores of the candidates; negative: (B, C) bool, false where a candidate is relevant.
    The sum of Eq. 1 is divided by the number of negatives, so that the loss does not grow with the sample.
    """
    hinge = _hinge(positive, candidates, negative, margin)
    return (hinge.sum(dim=1) / negative.sum(dim=1).clamp(min=1)).mean()


def stochastic_negative_mining(
    positive: Tensor, candidates: Tensor, negative: Tensor, margin: float, hardest: int
) -> Tensor:
    """Reddi et al. 2019: the same hinge, but only on the `hardest` top-scoring negatives of the sample."""
    hinge = _hinge(positive, candidates, negative, margin)
    count = min(hardest, hinge.shape[1])
    mined = hinge.topk(count, dim=1).values  # (B, hardest)
    return (mined.sum(dim=1) / negative.sum(dim=1).clamp(min=1, max=count)).mean()


def _hinge(positive: Tensor, candidates: Tensor, negative: Tensor, margin: float) -> Tensor:
    """(B, C): [h_y' - h_y + c]_+, and 0 where the candidate is no negative."""
    violation = (candidates - positive[:, None] + margin).clamp(min=0)
    return torch.where(negative, violation, torch.zeros_like(violation))
