"""LightDXML Eq. 2: the logarithm of one plus the squared distance of points to their labels."""

from __future__ import annotations

from torch import Tensor


def log_distance(points: Tensor, labels: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Sum over the positives (rows, columns) of log(1 + ||x_i - z_j||^2), divided by the number of points.

    points: (B, d). labels: (c, d). rows, columns: (p,) which point has which label.
    """
    squared = (points[rows] - labels[columns]).square().sum(dim=1)  # (p,)
    return squared.log1p().sum() / points.shape[0]
