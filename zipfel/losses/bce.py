"""Binary cross-entropy over a batch's candidate labels (LightDXML Eq. 7-8), with importance correction."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, softplus

from zipfel.kernels.bce import negatives_bce
from zipfel.kernels.choice import runs_kernels
from zipfel.system.threads import over_blocks


def candidate_bce(logits: Tensor, rows: Tensor, columns: Tensor, weight: Tensor | None = None) -> Tensor:
    """Sum over candidates, mean over rows: -log s(z) at the positives (rows, columns), -log(1 - s(z)) elsewhere.

    logits: (B, c), best as `nn.score.candidate_scores` lays them out. weight: (c,) importance of a negative,
    e.g. 1 / inclusion probability, so that the sum over the drawn candidates estimates the sum over all labels;
    positives always weigh 1.
    """
    if not runs_kernels(logits):
        return candidate_bce_plain(logits, rows, columns, weight)
    loss: Tensor = _CandidateBce.apply(logits, rows, columns, weight)  # type: ignore[no-untyped-call]
    return loss


def candidate_bce_plain(logits: Tensor, rows: Tensor, columns: Tensor, weight: Tensor | None = None) -> Tensor:
    """The same by torch's own BCE: the path on other devices, and what the kernel must equal."""
    targets = torch.zeros_like(logits)
    targets[rows, columns] = 1.0
    weights = torch.ones_like(logits) if weight is None else weight.expand_as(logits).clone()
    weights[rows, columns] = 1.0
    return binary_cross_entropy_with_logits(logits, targets, weights, reduction="sum") / logits.shape[0]


def pair_bce(logits: Tensor, truth: Tensor, n_rows: int) -> Tensor:
    """LightDXML Eq. 7-8 on chosen pairs: -log s(z) where truth is 1, -log(1 - s(z)) where it is 0, summed, a row.

    logits, truth: (m,). The sum is divided by the number of rows.
    """
    return binary_cross_entropy_with_logits(logits, truth, reduction="sum") / max(1, n_rows)


class _CandidateBce(torch.autograd.Function):
    """Value and gradient in one pass, without a dense target: all are taken as negatives, then the positives mended."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, rows: Tensor, columns: Tensor, weight: Tensor | None) -> Tensor:
        n_rows, by_label = logits.shape[0], logits.detach().T.contiguous()  # (c, B)
        weights = torch.ones(len(by_label)) if weight is None else weight.contiguous()
        grad = torch.empty_like(by_label)
        loss = _negatives(by_label, weights, 1.0 / n_rows, grad)
        positive, own = by_label[columns, rows], weights[columns]  # (p,)
        loss += float((softplus(-positive) - own * softplus(positive)).sum(dtype=torch.float64))
        grad[columns, rows] = (torch.sigmoid(positive) - 1.0) / n_rows
        ctx.save_for_backward(grad)
        return torch.tensor(loss / n_rows, dtype=logits.dtype)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        (by_label,) = ctx.saved_tensors
        scaled = by_label if float(grad) == 1.0 else by_label * grad
        return scaled.T, None, None, None


def _negatives(by_label: Tensor, weights: Tensor, scale: float, grad: Tensor) -> float:
    """The kernel over blocks of labels; the sum is taken in the blocks' order, so it does not depend on timing."""
    logits, importance, out = by_label.numpy(), weights.numpy(), grad.numpy()
    sums = np.zeros(len(logits))

    def work(start: int, stop: int) -> None:
        sums[start] = negatives_bce(logits, importance, scale, out, start, stop)

    over_blocks(work, len(logits), parts=None if logits.size > 65_536 else 1)
    return float(sums.sum())
