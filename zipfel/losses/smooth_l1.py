"""DXML's embedding loss: smooth L1 between two codes (Zhang et al. 2018, Eq. 1-3)."""

from __future__ import annotations

import torch
from torch import Tensor


def smooth_l1(codes: Tensor, targets: Tensor) -> Tensor:
    """Distance of each row (n,): d(f_x, f_y) = sum_j h((f_x)_j, (f_y)_j), both (n, dim).

    h(a, b) = (a - b)^2 / 2 where |a - b| <= 1, and |a - b| - 1/2 beyond: an outlier pulls no harder than a constant.
    """
    gap = (codes - targets).abs()
    return torch.where(gap <= 1, 0.5 * gap * gap, gap - 0.5).sum(dim=1)
