"""Copies of fitted objects that share their arrays. A change works on the copy and leaves the original as it is.

>>> import numpy as np
>>> before = {"counts": np.ones(2), "names": ["a"]}
>>> after = copied(before)
>>> after["names"].append("b")
>>> before["names"], after["counts"] is before["counts"]
(['a'], True)
"""

from __future__ import annotations

import copy
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")
_TRIES = 20
_OPEN = ("zipfel.", "scipy.sparse.")
"""Modules whose objects are copied attribute by attribute; those of others, e.g. of faiss, share nothing."""
_ATOMS = frozenset({str, int, float, bool, type(None)})
"""Types of values that need no copy. A vocabulary has a hundred thousand of them."""


def copied(thing: T) -> T:
    """A copy of all objects in it. Both share their arrays, so neither may change an array in place.

    Other threads may use the original meanwhile and fill its caches.
    """
    for _ in range(_TRIES - 1):
        with suppress(RuntimeError):  # a dictionary changed its size
            found: T = _copied(thing, {})
            return found
    last: T = _copied(thing, {})
    return last


def _copied(thing: Any, memo: dict[int, Any]) -> Any:
    if id(thing) in memo:
        return memo[id(thing)]
    memo[id(thing)] = made = _made(thing, memo)
    memo.setdefault(-1, []).append(thing)  # it lives as long as its id is known
    return made


def _made(thing: Any, memo: dict[int, Any]) -> Any:
    kind = type(thing)
    if kind is np.ndarray:
        return thing
    if kind is dict:
        return {key: value if type(value) in _ATOMS else _copied(value, memo) for key, value in thing.items()}
    if kind in (list, tuple):
        return kind([value if type(value) in _ATOMS else _copied(value, memo) for value in thing])
    if kind.__module__.startswith(_OPEN) and isinstance(getattr(thing, "__dict__", None), dict):
        made = copy.copy(thing)
        for name, value in list(vars(made).items()):
            vars(made)[name] = _copied(value, memo)
        return made
    return copy.deepcopy(thing, memo)
