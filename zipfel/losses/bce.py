"""Binary cross-entropy over a batch's candidate labels (LightDXML Eq. 7-8), with importance correction."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, softplus


def candidate_bce(logits: Tensor, rows: Tensor, columns: Tensor, weight: Tensor | None = None) -> Tensor:
    """Sum over candidates, mean over rows: -log s(z) at the positives (rows, columns), -log(1 - s(z)) elsewhere.

    logits: (B, c). weight: (c,) importance of a negative, e.g. 1 / inclusion probability, so that the sum over
    the drawn candidates estimates the sum over all labels; positives always weigh 1.
    """
    loss: Tensor = _CandidateBce.apply(logits, rows, columns, weight)  # type: ignore[no-untyped-call]
    return loss


def candidate_bce_plain(logits: Tensor, rows: Tensor, columns: Tensor, weight: Tensor | None = None) -> Tensor:
    """The same by torch's own BCE: what `candidate_bce` must equal."""
    targets = torch.zeros_like(logits)
    targets[rows, columns] = 1.0
    weights = torch.ones_like(logits) if weight is None else weight.expand_as(logits).clone()
    weights[rows, columns] = 1.0
    return binary_cross_entropy_with_logits(logits, targets, weights, reduction="sum") / logits.shape[0]


class _CandidateBce(torch.autograd.Function):
    """Value and gradient in one pass, without a dense target: log(1 + e^z) everywhere, the positives mended."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, rows: Tensor, columns: Tensor, weight: Tensor | None) -> Tensor:
        n_rows = logits.shape[0]
        positive = logits[rows, columns]
        negative = softplus(logits)
        share = torch.sigmoid(logits)
        own = torch.ones_like(positive)
        if weight is not None:
            negative, share, own = negative * weight, share.mul_(weight), weight[columns]
        loss = negative.sum() - (own * softplus(positive)).sum() + softplus(-positive).sum()
        share[rows, columns] = torch.sigmoid(positive) - 1.0
        ctx.save_for_backward(share.div_(n_rows))
        return loss / n_rows

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        (share,) = ctx.saved_tensors
        return share * grad, None, None, None
