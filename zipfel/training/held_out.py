"""The training points that choose: held out of train so that no label is lost with them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from zipfel.config import Config
from zipfel.points import Points

AnyConfig = TypeVar("AnyConfig", bound=Config)
_CHECKED = 1000
"""Held-out points that are asked after an epoch at most."""
_FEW, _FEWEST = 20, 10
"""Points below which none is held out: train then chooses for itself. The second is `split_to_choose`'s."""


def hold_out(train: Points, share: float, rng: np.random.Generator, *, at_most: int = 2000) -> tuple[Points, Points]:
    """(rest, held out): a random share of the rows, at most `at_most`, all of whose labels the rest has as well.

    A label whose points were all drawn keeps the first of them in the rest.
    """
    if train.n_points < _FEW:
        return train, train
    size = max(1, min(at_most, round(share * train.n_points)))
    held = np.zeros(train.n_points, dtype=bool)
    held[rng.permutation(train.n_points)[:size]] = True
    left = np.asarray(train.Y.T @ (~held).astype(np.float32)).ravel()
    for row in np.flatnonzero(held):
        mine = train.Y.indices[train.Y.indptr[row] : train.Y.indptr[row + 1]]
        if (left[mine] == 0).any():
            held[row] = False
            left[mine] += 1
    if not held.any():
        return train, train
    return train.take(np.flatnonzero(~held)), train.take(np.flatnonzero(held))


def split_to_choose(
    train: Points, valid: Points | None, share: float, rng: np.random.Generator, *, at_most: int = 2000
) -> tuple[Points, Points, Points]:
    """(what is trained on while choices are made, the held-out points that make them, all points together).

    The held-out points are `valid`, cut to train's labels, or a random share of train, at most `at_most`.
    """
    if valid is not None:
        held = valid.within(train.n_labels)
        return train, held, train.joined(held)
    rest, held = train.split(share, rng, at_most) if train.n_points >= _FEWEST else (train, train)
    return rest, held, train


def sample(points: Points) -> Points:
    """At most `_CHECKED` of them, evenly spread."""
    return points.take(np.unique(np.linspace(0, points.n_points - 1, min(_CHECKED, points.n_points)).astype(np.intp)))


def chance(points: Points) -> float:
    """By how much P@1 of those points may differ by chance: its standard error at most."""
    return 0.5 / math.sqrt(max(1, points.n_points))


def candidates_of(config: AnyConfig, settings: Sequence[Mapping[str, Any]]) -> list[AnyConfig]:
    """The config with each setting's values in place of what it leaves open (None), each once: what is to be tried."""
    found: list[AnyConfig] = []
    for setting in settings:
        filled = config.replace(**{name: v for name, v in setting.items() if getattr(config, name) is None})
        found += [filled] if filled not in found else []
    return found
