"""InfoNCE: of all label sets in the batch, find your own."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy


def info_nce(similarity: Tensor, temperature: float, excluded: Tensor | None = None) -> Tensor:
    """Mean cross-entropy of each row's own column: -log softmax(s_i / tau)_i.

    similarity: (B, B), row i against column j; the matched pairs are on the diagonal.
    excluded: (B, B) bool, true where column j is no negative of row i; the diagonal always counts.
    """
    logits = similarity / temperature
    own = torch.arange(len(logits), device=logits.device)
    if excluded is not None:
        excluded = excluded.clone()
        excluded[own, own] = False
        logits = logits.masked_fill(excluded, -torch.inf)
    return cross_entropy(logits, own)
