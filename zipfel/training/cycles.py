"""LightDXML's steps 2 and 3: label codes and each training point's shortlist, made anew in every cycle."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor

from zipfel.index.build import build_index
from zipfel.nn.encoder import LabelEncoder
from zipfel.nn.pairs import Pairs
from zipfel.points import Points
from zipfel.run import Run
from zipfel.training.batches import Batch
from zipfel.training.label_codes import embed_labels, spread

Array = npt.NDArray[np.float32]
_BLOCK = 4096
"""Points whose shortlists are searched at a time."""
_STEPS = ("step 2: label codes", "step 3: shortlists")


class Cycles:
    """encode: what makes the points' representations (n, d) of rows, as they are now; encoder: of the labels, trained
    for `epochs` with rate `lr` in a cycle; k: labels of a shortlist, found by an index of that kind; head: labels that
    are on every shortlist; centred: cosines are seen from the mean point.

    facts: of each cycle, Eq. 2 before and after and the codes' spread. Shortlists and encoder are kept in checkpoints.
    """

    def __init__(
        self, encode: Callable[[sp.csr_matrix], Array], encoder: LabelEncoder, train: Points, run: Run,
        *, epochs: int, lr: float, k: int, index: str, head: npt.NDArray[np.integer], centred: bool,
    ) -> None:  # fmt: skip
        self.encode, self.encoder, self.train, self.run = encode, encoder, train, run
        self.epochs, self.lr, self.k, self.index, self.head, self.centred = epochs, lr, k, index, head, centred
        self.shortlists = np.zeros((train.n_points, k), dtype=np.int32)
        self.facts: list[dict[str, float]] = []
        self._before = dict(run.timings)

    def embed(self, cycle: int) -> tuple[Array, Array, Array]:
        """Step 2: (n, d) points, (L, d) label codes, and the (d,) mean that cosines are seen from."""
        points = self.encode(self.train.X)
        with self.run.timed("step 2: label codes"):
            codes, losses = embed_labels(
                self.encoder, points, self.train.Y, epochs=self.epochs, lr=self.lr, run=self.run, cycle=cycle
            )
        self.facts.append({"epoch": cycle, "eq2_first": losses[0], "eq2_last": losses[-1], "spread": spread(codes)})
        return points, codes, points.mean(axis=0) if self.centred else np.zeros(points.shape[1], dtype=np.float32)

    def shortlist(self, points: Array, codes: Array, mean: Array, cycle: int) -> None:
        """Step 3: S_k(x_i) of every training point."""
        with self.run.timed("step 3: shortlists"):
            if self.k == len(codes):
                self.shortlists[:] = np.arange(self.k)
                return
            seed = int(self.run.rng(7, cycle).integers(2**31))
            seen = points - mean
            index = build_index(codes - mean, kind=self.index, queries=seen, k=self.k, recall=0.8, seed=seed)
            for a in range(0, len(seen), _BLOCK):
                self.shortlists[a : a + _BLOCK] = index.search(seen[a : a + _BLOCK], self.k)[0]

    def extend(self, batch: Batch, rng: np.random.Generator) -> None:  # noqa: ARG002 - nothing is drawn
        """Gives the batch the pairs of Eq. 3: each point with its positives and its shortlist."""
        head = np.broadcast_to(self.head.astype(np.int32), (len(batch), len(self.head)))
        add_pairs(batch, np.hstack([self.shortlists[batch.rows], head]))

    @property
    def seconds(self) -> float:
        """That steps 2 and 3 took so far in this fit."""
        return sum(self.run.timings.get(step, 0.0) - self._before.get(step, 0.0) for step in _STEPS)

    def state(self) -> dict[str, Tensor]:
        encoder = {name: tensor.clone() for name, tensor in self.encoder.state_dict().items()}
        return {"shortlists": torch.from_numpy(self.shortlists), **encoder}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        self.shortlists = state["shortlists"].numpy().copy()
        self.encoder.load_state_dict({name: tensor for name, tensor in state.items() if name != "shortlists"})


def add_pairs(batch: Batch, negatives: npt.NDArray[np.integer]) -> None:
    """Gives the batch each of its points with its positives and with labels (B, k), which may be positives, too."""
    pairs = Pairs.of(batch.Y.indptr, batch.Y.indices, negatives, batch.Y.shape[1])
    batch.ids["labels"], batch.extra["pairs"] = pairs.ids, pairs
