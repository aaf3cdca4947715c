"""Products of dense matrices on threads of our own."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from zipfel.system.threads import over_products

Array = npt.NDArray[Any]


def product(left: Array, right: Array) -> Array:
    """left @ right, (n, d) of (n, m) and (m, d), rows spread over threads."""
    out = np.empty((left.shape[0], right.shape[1]), dtype=np.result_type(left, right))

    def multiply(start: int, stop: int) -> None:
        np.matmul(left[start:stop], right, out=out[start:stop])

    over_products(multiply, len(left))
    return out
