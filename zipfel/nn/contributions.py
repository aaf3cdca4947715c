"""What each part of a sum does to a score of the sum."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor


def contributions(words: Tensor, score: Callable[[Tensor], Tensor], labels: Sequence[int]) -> dict[int, list[float]]:
    """What each of a document's words (t, C), which are summed and then scored, adds to the score of each label.

    score: from the sum (1, C) to the scores (n_labels,). A word's part is the inner product with the score's slope
    at the sum; where the score is linear, the parts add up to it.
    """
    pooled = words.sum(dim=0, keepdim=True).requires_grad_()
    scores = score(pooled)
    found = {}
    for label in labels:
        (slope,) = torch.autograd.grad(scores[label], pooled, retain_graph=True)  # (1, C)
        found[label] = (words @ slope[0]).tolist()
    return found
