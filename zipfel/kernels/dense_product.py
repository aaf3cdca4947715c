"""Products of dense matrices on threads of our own."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from zipfel.threads import blas_threads, over_blocks

Array = npt.NDArray[Any]
FEW = 8
"""Rows that are not worth spreading."""


def product(left: Array, right: Array) -> Array:
    """left @ right, (n, d) of (n, m) and (m, d), rows spread over threads.

    BLAS has threads of its own, but they sleep between calls, and a call that wakes them may wait for milliseconds
    until each is given a core: longer than a product of small matrices takes.
    """
    if len(left) <= FEW:
        with blas_threads():
            return np.asarray(left @ right)
    out = np.empty((left.shape[0], right.shape[1]), dtype=np.result_type(left, right))

    def multiply(start: int, stop: int) -> None:
        np.matmul(left[start:stop], right, out=out[start:stop])

    with blas_threads(1):
        over_blocks(multiply, len(left))
    return out
