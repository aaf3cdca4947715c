"""Row-wise optimisers: one pass over the touched rows of a table, weights and moments together."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[Any]


@njit(cache=True, nogil=True, error_model="numpy")
def adam_rows(
    ids: Array,
    grad: Array,
    weights: Array,
    first: Array,
    second: Array,
    steps: Array,
    numbers: Array,
    start: int,
    stop: int,
) -> None:
    """Adam on weights[ids[start:stop]]; numbers = [lr, beta1, beta2, eps, decay]. Plain twin: `nn.table._adam_plain`.

    steps: (n_rows,) int32, how often each row was touched; the bias correction is that of the row.
    """
    lr, beta1, beta2, eps, decay = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    one = np.float32(1.0)
    for i in range(start, stop):
        row = ids[i]
        steps[row] += 1
        rate = np.float32(lr / (1.0 - beta1 ** steps[row]))
        unbias = np.float32(1.0 / np.sqrt(1.0 - beta2 ** steps[row]))
        keep = np.float32(1.0 - lr * decay)
        b1, b2, e = np.float32(beta1), np.float32(beta2), np.float32(eps)
        for d in range(weights.shape[1]):
            g = grad[i, d]
            m = b1 * first[row, d] + (one - b1) * g
            v = b2 * second[row, d] + (one - b2) * g * g
            first[row, d] = m
            second[row, d] = v
            weights[row, d] = keep * weights[row, d] - rate * m / (np.sqrt(v) * unbias + e)


@njit(cache=True, nogil=True, error_model="numpy")
def adagrad_rows(ids: Array, grad: Array, weights: Array, total: Array, numbers: Array, start: int, stop: int) -> None:
    """Adagrad on weights[ids[start:stop]]; numbers = [lr, _, _, eps, decay]. Plain twin: `nn.table._adagrad_plain`."""
    lr, eps, decay = numbers[0], np.float32(numbers[3]), numbers[4]
    rate, keep = np.float32(lr), np.float32(1.0 - lr * decay)
    for i in range(start, stop):
        row = ids[i]
        for d in range(weights.shape[1]):
            g = grad[i, d]
            total[row, d] += g * g
            weights[row, d] = keep * weights[row, d] - rate * g / (np.sqrt(total[row, d]) + eps)


@njit(cache=True, nogil=True)
def coasting(lr: float, momentum: float, decay: float, steps: int) -> tuple[float, float, float, float]:
    """(ww, wv, vw, vv): `steps` steps of SGD without a gradient are w = ww w + wv v, v = vw w + vv v.

    One such step is v = momentum v + decay w, then w = w - lr v; its matrix is raised to a power by squaring.
    """
    a, b, c, d = 1.0 - lr * decay, -lr * momentum, decay, momentum  # one step
    p, q, r, s = 1.0, 0.0, 0.0, 1.0  # the power
    while steps > 0:
        if steps & 1:
            p, q, r, s = p * a + q * c, p * b + q * d, r * a + s * c, r * b + s * d
        a, b, c, d = a * a + b * c, a * b + b * d, c * a + d * c, c * b + d * d
        steps >>= 1
    return p, q, r, s


@njit(cache=True, nogil=True)
def coast_rows(
    ids: Array, weights: Array, velocity: Array, steps: Array, numbers: Array, now: int, start: int, stop: int
) -> None:
    """The steps up to `now` that rows[ids[start:stop]] rested in; numbers = [lr, momentum, decay].

    steps: (n_rows,) int32, the table's step that a row has seen last. Plain twin: `nn.table._coast_plain`.
    """
    for i in range(start, stop):
        row = ids[i]
        missed = now - steps[row]
        if missed <= 0:
            continue
        steps[row] = now
        ww, wv, vw, vv = coasting(numbers[0], numbers[1], numbers[2], missed)
        p, q, r, s = np.float32(ww), np.float32(wv), np.float32(vw), np.float32(vv)
        for d in range(weights.shape[1]):
            w, v = weights[row, d], velocity[row, d]
            weights[row, d] = p * w + q * v
            velocity[row, d] = r * w + s * v


@njit(cache=True, nogil=True)
def sgd_rows(
    ids: Array,
    grad: Array,
    weights: Array,
    velocity: Array,
    steps: Array,
    numbers: Array,
    now: int,
    start: int,
    stop: int,
) -> None:
    """SGD with momentum on weights[ids[start:stop]]; numbers = [lr, momentum, decay]. Twin: `nn.table._sgd_plain`."""
    lr, momentum, decay = np.float32(numbers[0]), np.float32(numbers[1]), np.float32(numbers[2])
    for i in range(start, stop):
        row = ids[i]
        steps[row] = now
        for d in range(weights.shape[1]):
            v = momentum * velocity[row, d] + grad[i, d] + decay * weights[row, d]
            velocity[row, d] = v
            weights[row, d] -= lr * v
