"""SLEEC's local embedding (Bhatia et al. 2015): codes of label sets whose inner products are right for near pairs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.index.sparse import unit_csr
from zipfel.kernels.sparse_topk import sparse_topk
from zipfel.system.threads import check_halted

Floats = npt.NDArray[np.float32]
_BETAS, _EPS = (0.9, 0.999), 1e-8


def nearest_sets(Y: sp.csr_matrix, n_neighbors: int) -> sp.csr_matrix:
    """(n, n) cosines of each label set with its nearest ones, itself among them: G on Omega, made symmetric."""
    unit = unit_csr(Y)
    ids, cosines = sparse_topk(unit, sp.csr_matrix(unit.T), n_neighbors + 1)
    rows, kept = np.repeat(np.arange(len(ids)), ids.shape[1]), ids.ravel() >= 0
    near = sp.csr_matrix((cosines.ravel()[kept], (rows[kept], ids.ravel()[kept])), shape=(len(ids), len(ids)))
    return sp.csr_matrix(near.maximum(near.T), dtype=np.float32)


def neighbour_codes(
    Y: sp.csr_matrix, dim: int, *, n_neighbors: int = 15, steps: int = 100, lr: float = 0.05, seed: int = 0
) -> Floats:
    """Z (n, dim) that makes sum over Omega of (G_ij - z_i . z_j)^2 small; G: cosines of label sets, Omega: near pairs.

    Z starts as a random projection of the label sets, which keeps all their inner products roughly. Adam then moves it
    along the gradient 4 (Z Z' - G)_Omega Z, which costs |Omega| dim a step.
    """
    near = nearest_sets(Y, n_neighbors)
    columns, rows = near.indices, np.repeat(np.arange(near.shape[0]), np.diff(near.indptr))
    drawn = np.random.default_rng(seed).standard_normal((Y.shape[1], dim)) / np.sqrt(dim)
    Z = np.asarray(unit_csr(Y) @ drawn, dtype=np.float32)
    first, second = np.zeros_like(Z), np.zeros_like(Z)
    for step in range(1, steps + 1):
        check_halted()
        gaps = np.einsum("ed,ed->e", Z[rows], Z[columns]) - near.data
        gradient = 4 * (sp.csr_matrix((gaps, columns, near.indptr), shape=near.shape) @ Z)
        first += (1 - _BETAS[0]) * (gradient - first)
        second += (1 - _BETAS[1]) * (gradient**2 - second)
        rate = lr * (1 - (step - 1) / steps) / (1 - _BETAS[0] ** step)
        Z -= rate * first / (np.sqrt(second / (1 - _BETAS[1] ** step)) + _EPS)
    return Z
