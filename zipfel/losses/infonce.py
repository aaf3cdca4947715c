"""InfoNCE: of all label sets in the batch, find your own."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def info_nce(similarity: Tensor, temperature: float, excluded: Tensor | None = None) -> Tensor:
    """Mean cross-entropy of each row's own column: -log softmax(s_i / tau)_i.

    similarity: (B, B) or (E, B, B), row i against column j; the matched pairs are on the diagonal.
    excluded: (B, B) bool, true where column j is no negative of row i; the diagonal always counts.
    """
    size = similarity.shape[-1]
    loss: Tensor = _OwnColumn.apply(similarity.reshape(-1, size, size), temperature, excluded)  # type: ignore[no-untyped-call]
    return loss


class _OwnColumn(torch.autograd.Function):
    """By hand, for a batch's square of similarities is large: the gradient, softmax(s / tau) - 1 on the diagonal, is
    made in the place of the exponentials that the loss needs anyway."""

    @staticmethod
    def forward(ctx: Any, similarity: Tensor, temperature: float, excluded: Tensor | None) -> Tensor:
        logits = similarity / temperature  # (E, B, B)
        own = logits.diagonal(dim1=1, dim2=2).clone()  # (E, B)
        if excluded is not None:
            rows, columns = excluded.nonzero(as_tuple=True)
            logits[:, rows, columns] = -torch.inf
            logits.diagonal(dim1=1, dim2=2).copy_(own)
        top = logits.amax(dim=2, keepdim=True)  # (E, B, 1)
        chances = logits.sub_(top).exp_()
        total = chances.sum(dim=2, keepdim=True)
        chances.div_(total).diagonal(dim1=1, dim2=2).sub_(1)
        ctx.scale = 1 / (temperature * own.numel())
        ctx.save_for_backward(chances)
        return ((top + total.log())[..., 0] - own).mean()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        (chances,) = ctx.saved_tensors
        return chances * (ctx.scale * grad), None, None
