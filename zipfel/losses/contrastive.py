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


def hardest_negative(f_x: Tensor, f_y: Tensor, sampled: Tensor, excluded: Tensor) -> Tensor:
    """(E, b) cosine of each row with the nearest of its h sampled label sets; -inf where none of them is a negative.

    f_x: (E, b, dim), f_y: (E, B, dim), unit vectors. sampled: (b, h) rows of f_y. excluded: (b, B) bool, no negatives.
    Only this one costs anything in Eq. 11, so only its cosine gets a gradient.
    """
    with torch.no_grad():
        samples = sampled.expand(len(f_x), -1, -1)  # (E, B, h)
        cosines = (f_x @ f_y.transpose(1, 2)).gather(2, samples).masked_fill(excluded.gather(1, sampled), -torch.inf)
        largest, place = cosines.max(dim=2)  # (E, B)
        hardest = samples.gather(2, place[:, :, None])  # (E, B, 1)
    cosine = (f_x * f_y.gather(1, hardest.expand(f_x.shape))).sum(dim=2)
    return cosine.masked_fill(largest == -torch.inf, -torch.inf)
