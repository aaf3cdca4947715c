"""Softmax cross-entropy over all labels or over a sample of them, for rows with several relevant labels."""

from __future__ import annotations

import torch
from torch import Tensor


def softmax_cross_entropy(scores: Tensor, target: Tensor, log_frequency: Tensor | None = None) -> Tensor:
    """Mean over rows of -sum_c target_c log softmax(scores - log q)_c.

    scores: (B, C) of the candidates. target: (B, C), rows sum to one (or to zero: such a row adds nothing).
    log_frequency: (C,) log of how often a candidate is expected in a sample of this size; taking it away makes
        the sampled softmax an estimate of the full one (Bengio & Senecal 2008). None where all labels are there.
    """
    if log_frequency is not None:
        scores = scores - log_frequency
    log_likelihood = scores - torch.logsumexp(scores, dim=1, keepdim=True)
    return -(target * log_likelihood).sum(dim=1).mean()
