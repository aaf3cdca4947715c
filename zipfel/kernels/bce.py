"""Binary cross-entropy of a block of logits: its value and its gradient in one pass over memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[Any]

_RUN = 64
"""Factors (1 + e^-|z|) <= 2 that are multiplied before a logarithm is taken; their product stays below 2^64."""


@njit(cache=True, nogil=True, error_model="numpy", fastmath=True)
def negatives_bce(logits: Array, weights: Array, scale: float, grad: Array, start: int, stop: int) -> float:
    """Sum of weights[i] * log(1 + e^z) over rows i of start..stop; grad gets scale * weights[i] * sigmoid(z).

    logits, grad: (r, c); weights: (r,). e^x on [-30, 0] is a polynomial of x / 32, squared five times: relative
    error about 1e-6, and plain arithmetic, which the compiler turns into vector instructions. Plain twin:
    `losses.bce.candidate_bce_plain`.
    """
    one, half = np.float32(1.0), np.float32(0.5)
    c3, c4, c5 = np.float32(1 / 6), np.float32(1 / 24), np.float32(1 / 120)
    c6, c7 = np.float32(1 / 720), np.float32(1 / 5040)
    total = 0.0
    width = logits.shape[1]
    for i in range(start, stop):
        row, out, weight = logits[i], grad[i], np.float32(scale * weights[i])
        value = 0.0
        for a in range(0, width, _RUN):
            linear, product = np.float32(0.0), one
            for j in range(a, min(a + _RUN, width)):
                z = row[j]
                above = z if z > 0 else np.float32(0.0)
                x = z - above - above  # -|z|
                x = (x if x > np.float32(-30.0) else np.float32(-30.0)) * np.float32(1 / 32)
                e = one + x * (one + x * (half + x * (c3 + x * (c4 + x * (c5 + x * (c6 + x * c7))))))
                e = e * e
                e = e * e
                e = e * e
                e = e * e
                e = e * e
                share = one / (one + e)
                out[j] = weight * (share if z > 0 else e * share)
                linear += above
                product *= one + e
            value += linear + np.log(np.float64(product))
        total += value * weights[i]
    return total
