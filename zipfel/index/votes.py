"""Neighbours to labels: each neighbour votes for its labels with its weight."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.kernels.sparse_topk import sparse_topk
from zipfel.ranking import PAD, Ranking


def sharpened(similarities: npt.NDArray[np.float32], sharpness: float) -> npt.NDArray[np.float32]:
    """exp(t (sim - best)) for the (n, m) similarities of each row's neighbours; 0 where there is none (-inf).

    t = 0 counts heads; a large t listens to the nearest only. The best neighbour always weighs 1.
    """
    if similarities.shape[1] == 0:
        return similarities.astype(np.float32)
    best = similarities.max(axis=1, keepdims=True)
    distance = np.where(np.isneginf(similarities), -np.inf, similarities - np.where(np.isneginf(best), 0, best))
    present = np.isfinite(distance)
    return np.where(present, np.exp(sharpness * np.where(present, distance, 0)), 0).astype(np.float32)


def vote(neighbours: npt.NDArray[np.integer], weights: npt.NDArray[np.floating], Y: sp.csr_matrix, k: int) -> Ranking:
    """The k labels with most votes: label l of point i scores the weighted share of i's neighbours that have l.

    neighbours: (n, m) rows of Y, -1 pads. weights: (n, m), what each neighbour's vote counts; see `sharpened`.
    Y: (n_points, n_labels). A row without neighbours, or with too few labels among them, is padded.
    """
    return Ranking(*sparse_topk(vote_shares(neighbours, weights, Y.shape[0]), Y, k))


def vote_shares(neighbours: npt.NDArray[np.integer], weights: npt.NDArray[np.floating], n_points: int) -> sp.csr_matrix:
    """(n, n_points) the share of each neighbour in its row's votes; times Y they are the labels' scores."""
    n, m = neighbours.shape
    present = neighbours != PAD
    weights = np.where(present, weights, 0).astype(np.float32)  # (n, m)
    total = weights.sum(axis=1, keepdims=True)
    shares = weights / np.where(total > 0, total, 1)
    voters = np.where(present, neighbours, 0).astype(np.int32)  # a pad is row 0 with weight 0
    indptr = np.arange(n + 1, dtype=np.int64) * m
    return sp.csr_matrix((shares.ravel(), voters.ravel(), indptr), shape=(n, n_points))


def ballots(Y: sp.csr_matrix) -> sp.csr_matrix:
    """(n_labels + n, n_labels): a label votes for itself, a training point for its labels."""
    return sp.vstack([sp.identity(Y.shape[1], dtype=np.float32, format="csr"), Y], format="csr")
