"""MNN's noise contrastive loss: pull the matched pair together, push the hardest of a few mismatched ones away."""

from __future__ import annotations

import torch
from torch import Tensor


def noise_contrastive(positive: Tensor, negatives: Tensor, margin: float) -> Tensor:
    """Mean over the batch of Eq. 9 + the largest of Eq. 10 (Zhao et al., Eq. 11).

        L+ = (1 - c(x, y))^2 / 4
        L- = c(x, y_j)^2 where c(x, y_j) > m, else 0        only the largest over j counts

    positive: (B,) cosine of each row with its own label set.
    negatives: (B, h) cosines with sampled label sets; -inf where the sample is no negative.
    margin: m >= 0, so the largest loss is that of the largest cosine.
    """
    hardest = negatives.amax(dim=1)  # (B,)
    pushed = torch.where(hardest > margin, hardest, torch.zeros_like(hardest))
    return (0.25 * (1 - positive).square() + pushed.square()).mean()
