"""One label of each row, drawn uniformly from its own, and how near the drawn ones should be: GLaS, Algorithm 2."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch

from zipfel.regularizers.affinity import Affinity
from zipfel.training.batches import Batch


class LabelDraws:
    """Puts into `batch.extra` what lines 12 and 16 make.

    one: (B,) the drawn labels as columns of the candidates. distinct: (b,) those of the whole batch, without repeats.
    counts: (b,) how often each was drawn. U: (b, b) of Eq. 3 between those, where `affinity` names how it is counted on
    all label sets Y. Every row must have a label, and its labels be candidates.
    """

    def __init__(self, Y: sp.csr_matrix, affinity: str | None = None) -> None:
        self._affinity = None if affinity is None else Affinity(Y, affinity)

    def __call__(self, batch: Batch, rng: np.random.Generator) -> None:
        assert batch.candidates is not None
        Y, labels = batch.everything.Y, batch.candidates.labels
        sizes = np.diff(Y.indptr)
        drawn = Y.indices[Y.indptr[:-1] + (rng.random(len(sizes)) * sizes).astype(np.int64)]
        one = torch.searchsorted(labels, torch.from_numpy(drawn.astype(np.int64)))
        distinct, counts = torch.unique(one, return_counts=True)
        batch.extra |= {"one": batch.own(one), "distinct": distinct, "counts": counts.float()}
        if self._affinity is not None:
            batch.extra["U"] = self._affinity.between(labels[distinct].numpy())
