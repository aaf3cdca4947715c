"""Label codes learned from centroids: step 2 of LightDXML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor

from zipfel.index.base import unit_rows
from zipfel.losses.log_distance import log_distance
from zipfel.nn.encoder import LabelEncoder
from zipfel.run import Run
from zipfel.training.batches import Batch, Batches
from zipfel.training.candidates import CandidateSampler
from zipfel.training.trainer import Plan, Trainer

Array = npt.NDArray[np.float32]
_SIZE = 1024
"""Points a step."""


def embed_labels(
    encoder: LabelEncoder, hidden: Array, Y: sp.csr_matrix, *, epochs: int, lr: float, run: Run, cycle: int
) -> tuple[Array, list[float]]:
    """((L, d) codes z_j of labels Y (n, L), Eq. 2 before and after) `epochs` over the points' representations (n, d).

    Each epoch is a pass over all positives by Adam with a linearly falling rate.
    """
    points, means = torch.from_numpy(hidden), torch.from_numpy(centroids(hidden, Y))

    def objective(batch: Batch, rows: Mapping[str, Tensor]) -> Tensor:  # noqa: ARG001 - no tables here
        found = batch.candidates
        assert found is not None
        device = found.labels.device
        codes = encoder(means[found.labels.cpu()].to(device))  # (c, d), Eq. 4
        x = points[torch.from_numpy(batch.rows)].to(device)  # (B, d)
        return log_distance(x, codes, found.rows, found.columns)  # Eq. 2

    losses = [equation_2(hidden, _codes(encoder, means), Y)]
    if epochs:
        nothing = sp.csr_matrix((len(hidden), 1), dtype=np.float32)
        seed, positives = int(run.rng(3, cycle).integers(2**31)), CandidateSampler(Y, n_sampled=0)
        batches = Batches(nothing, Y, size=_SIZE, seed=seed, candidates=positives)
        quiet = replace(run, checkpoint=None)  # a cycle is short; the phase around it has the checkpoints
        Trainer(quiet, batches, objective, Plan(epochs=epochs, lr=lr), module=encoder, name="label codes").fit()
        losses.append(equation_2(hidden, _codes(encoder, means), Y))
    return _codes(encoder, means), losses


def centroids(points: Array, Y: sp.csr_matrix) -> Array:
    """(L, d) mean of the points (n, d) of each label: LightDXML Eq. 5, Astec's mu_l; 0 for a label without points."""
    counts = np.maximum(np.bincount(Y.indices, minlength=Y.shape[1]), 1).astype(np.float32)
    sums: Array = np.asarray(Y.T @ points, dtype=np.float32)
    return sums / counts[:, None]


def _codes(encoder: LabelEncoder, means: Tensor) -> Array:
    with torch.no_grad():
        codes: Array = encoder(means).numpy()
    return codes


def equation_2(hidden: Array, codes: Array, Y: sp.csr_matrix) -> float:
    """1/N times the sum over positives of log(1 + ||x_i - z_j||^2), over blocks of points."""
    total = 0.0
    for a in range(0, len(hidden), _SIZE):
        block = Y[a : a + _SIZE]
        rows = np.repeat(np.arange(a, a + block.shape[0]), np.diff(block.indptr))
        squared = np.einsum("pd,pd->p", *(2 * [hidden[rows] - codes[block.indices]]))
        total += float(np.log1p(squared).sum())
    return total / max(1, len(hidden))


def spread(codes: Array) -> float:
    """1 - mean cosine of label codes to their mean: near 0, all labels have collapsed to one place."""
    units = unit_rows(codes)
    return float(1 - (units @ unit_rows(units.mean(axis=0, keepdims=True)).T).mean())
