"""InfoNCE: of all label sets in the batch, find your own."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def info_nce(similarity: Tensor, temperature: float, excluded: Tensor | None = None, first: int = 0) -> Tensor:
    """Mean cross-entropy of each row's own column: -log softmax(s_i / tau)_(first + i).

    similarity: (b, B) or (E, b, B), row i against column j; matched pairs are on the diagonal from column `first` on.
    excluded: (b, B) bool, true where column j is no negative of row i; the diagonal always counts.
    """
    shape = similarity.shape[-2:]
    loss: Tensor = _OwnColumn.apply(similarity.reshape(-1, *shape), temperature, excluded, first)  # type: ignore[no-untyped-call]
    return loss


class _OwnColumn(torch.autograd.Function):
    """By hand, for a batch's square of similarities is large: the gradient, softmax(s / tau) - 1 on the diagonal, is
    made in the place of the exponentials that the loss needs anyway."""

    @staticmethod
    def forward(ctx: Any, similarity: Tensor, temperature: float, excluded: Tensor | None, first: int) -> Tensor:
        logits = similarity / temperature  # (E, b, B)
        own = logits.diagonal(first, dim1=1, dim2=2).clone()  # (E, b)
        if excluded is not None:
            rows, columns = excluded.nonzero(as_tuple=True)
            logits[:, rows, columns] = -torch.inf
            logits.diagonal(first, dim1=1, dim2=2).copy_(own)
        top = logits.amax(dim=2, keepdim=True)  # (E, b, 1)
        chances = logits.sub_(top).exp_()
        total = chances.sum(dim=2, keepdim=True)
        chances.div_(total).diagonal(first, dim1=1, dim2=2).sub_(1)
        ctx.scale = 1 / (temperature * own.numel())
        ctx.save_for_backward(chances)
        return ((top + total.log())[..., 0] - own).mean()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        (chances,) = ctx.saved_tensors
        return chances * (ctx.scale * grad), None, None, None
