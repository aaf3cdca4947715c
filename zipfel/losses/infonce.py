"""InfoNCE: of all label sets in the batch, find your own."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy


def info_nce(similarity: Tensor, temperature: float, excluded: Tensor | None = None) -> Tensor:
    """Mean cross-entropy of each row's own column: -log softmax(s_i / tau)_i.

    similarity: (B, B) or (E, B, B), row i against column j; the matched pairs are on the diagonal.
    excluded: (B, B) bool, true where column j is no negative of row i; the diagonal always counts.
    """
    logits = similarity / temperature
    size = logits.shape[-1]
    own = torch.arange(size, device=logits.device)
    if excluded is not None:
        others = excluded.clone()
        others[own, own] = False
        if others.any():
            logits = logits.masked_fill(others, -torch.inf)
    return cross_entropy(logits.reshape(-1, size), own.repeat(logits.numel() // max(1, size * size)))
