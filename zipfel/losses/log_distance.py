"""LightDXML Eq. 2: the logarithm of one plus the squared distance of points to their labels."""

from __future__ import annotations

from torch import Tensor

_DENSE = 100
"""With more than one positive in so many pairs, the product of all pairs is quicker than a difference for each."""


def log_distance(points: Tensor, labels: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Sum over the positives (rows, columns) of log(1 + ||x_i - z_j||^2), divided by the number of points.

    points: (B, d). labels: (c, d). rows, columns: (p,) which point has which label.
    """
    if _DENSE * len(rows) > len(points) * len(labels):
        own, other = points.square().sum(dim=1), labels.square().sum(dim=1)
        squared = own[rows] + other[columns] - 2 * (points @ labels.T)[rows, columns]  # (p,)
        squared = squared.clamp_min(0)  # rounding may leave it just below
    else:
        squared = (points[rows] - labels[columns]).square().sum(dim=1)
    return squared.log1p().sum() / points.shape[0]
