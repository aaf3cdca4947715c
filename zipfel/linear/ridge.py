"""Ridge regression of many targets on sparse rows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.kernels.bag import encode_bag
from zipfel.system.threads import check_halted

Floats = npt.NDArray[np.float32]
_STEPS = 30
"""Of conjugate gradients."""


def ridge(X: sp.csr_matrix, Z: Floats, weight: float, steps: int = _STEPS) -> Floats:
    """V (n_features, dim) with the smallest |Z - X V|^2 + weight |V|^2: (X' X + weight I)^-1 X' Z.

    By conjugate gradients, each column with its own step. X: (n, n_features); Z: (n, dim).
    """
    Xt = sp.csr_matrix(X.T)
    V: Floats = np.zeros((X.shape[1], Z.shape[1]), dtype=np.float32)
    residual = encode_bag(Xt, Z)
    direction, length = residual.copy(), (residual**2).sum(axis=0)
    for _ in range(steps):
        check_halted()
        moved = encode_bag(Xt, encode_bag(X, direction)) + np.float32(weight) * direction
        step = length / np.maximum((direction * moved).sum(axis=0), 1e-30)
        V += step * direction
        residual -= step * moved
        before, length = length, (residual**2).sum(axis=0)
        direction = residual + length / np.maximum(before, 1e-30) * direction
    return V
