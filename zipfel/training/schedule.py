"""How long to train, and learning-rate schedules: the share of the peak rate at a point of the training, 0 at its start
and 1 at its end."""

from __future__ import annotations

import math

from zipfel.errors import ParameterError

SCHEDULES = ("constant", "linear", "cosine")


def epochs_for(steps: int, n_batches: int, limits: tuple[int, int]) -> int:
    """As many epochs of so many batches as make that many steps, within the limits."""
    return min(max(math.ceil(steps / max(1, n_batches)), limits[0]), limits[1])


def rate_at(progress: float, schedule: str = "linear", warmup: float = 0.0) -> float:
    """Rises linearly over the first `warmup` share, then stays, or falls to 0 linearly or along a cosine."""
    if schedule not in SCHEDULES:
        raise ParameterError(f"schedule must be one of {', '.join(SCHEDULES)}, got {schedule!r}")
    if progress < warmup:
        return progress / warmup
    if schedule == "constant":
        return 1.0
    rest = min(1.0, (progress - warmup) / max(1e-12, 1.0 - warmup))
    return 1.0 - rest if schedule == "linear" else 0.5 * (1.0 + math.cos(math.pi * rest))
