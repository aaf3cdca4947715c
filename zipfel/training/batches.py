"""Shuffled sparse batches, built ahead of need in a thread; the same seed gives the same batches."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor

from zipfel.nn.bag import LocalRows
from zipfel.nn.pairs import Pairs
from zipfel.nn.shares import Share, Team
from zipfel.system.threads import get_threads
from zipfel.training.candidates import Candidates, CandidateSampler

_AHEAD = 4
_ORDER, _BATCH, _STEP = 101, 102, 103
"""Salts: which rows, what is drawn while building, what is drawn while training."""


@dataclass
class Batch:
    """B points of train, ready for a step.

    ids: for each table by name, the (u,) distinct rows that this batch touches; the trainer gathers them.
         "features" and, where the batches have labels or candidates, "labels" are set; `extend` may add more.
    extra: whatever a method's `extend` put there.
    share, whole: where several workers train, this is one's share of a whole batch, which has no X; its candidates are
         those of the whole batch, their positives its own. `everything` and `own` are the same for all.
    """

    rows: npt.NDArray[np.int64]  # (B,) which points of train
    X: LocalRows  # local columns are rows of ids["features"]
    Y: sp.csr_matrix  # (B, n_labels) labels of the rows
    seed: tuple[int, ...]
    candidates: Candidates | None = None  # columns are rows of ids["labels"]
    ids: dict[str, Tensor] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)
    share: Share | None = None
    whole: Batch | None = None

    @property
    def everything(self) -> Batch:
        """The whole batch: itself in a process that trains alone."""
        return self.whole or self

    @property
    def first(self) -> int:
        """Place of its first row in the whole batch."""
        return 0 if self.share is None else self.share.first

    def own(self, things: Any) -> Any:
        """Its rows of a tensor or an array that has a row for each of the whole batch."""
        return things if self.share is None else things[self.share.first : self.share.last]

    def __len__(self) -> int:
        return len(self.rows)

    def to(self, device: torch.device) -> Batch:
        """The same batch with all tensors on the device. Random numbers are still drawn on the CPU."""
        found = replace(self, X=self.X.to(device), ids={name: ids.to(device) for name, ids in self.ids.items()})
        found.candidates = None if self.candidates is None else self.candidates.to(device)
        found.extra = {name: _moved(thing, device) for name, thing in self.extra.items()}
        return found

    @cached_property
    def generator(self) -> torch.Generator:
        """For draws inside the objective (dropout), on the CPU: depends on seed, epoch and batch only, so it resumes
        exactly, and is the same on any device."""
        seed = int(np.random.default_rng([*self.seed, _STEP]).integers(2**62))
        return torch.Generator().manual_seed(seed)


def batch_size(n_points: int, most: int = 256) -> int:
    """Points a step where a paper's would give small data a dozen steps: what makes 32 an epoch, 16 to `most`."""
    return int(np.clip(2 ** round(np.log2(max(2, n_points) / 32)), 16, most))


def _moved(thing: Any, device: torch.device) -> Any:
    return thing.to(device) if isinstance(thing, Tensor | LocalRows | Pairs) else thing


Extend = Callable[[Batch, np.random.Generator], None]


class Batches:
    """The batches of an epoch over points X, Y of train.

    size: points a batch. candidates: sampler of the labels to score against, or None where a method needs none.
    keep: share of a row's features kept by dropout (1 keeps all); rescale divides the kept ones by `keep`.
    rows: which points take part (default all). extend: called on each batch in the builder's thread, to add to
    `batch.ids` and `batch.extra`; it draws from the generator it is given and from nothing else.
    """

    def __init__(
        self,
        X: sp.csr_matrix,
        Y: sp.csr_matrix,
        *,
        size: int,
        seed: int,
        candidates: CandidateSampler | None = None,
        keep: float = 1.0,
        rescale: bool = True,
        rows: npt.NDArray[np.int64] | None = None,
        extend: Extend | None = None,
    ) -> None:
        self.X, self.Y, self.seed = X, Y, seed
        self.rows = np.arange(X.shape[0], dtype=np.int64) if rows is None else rows
        self.size = max(1, min(size, len(self.rows)))
        self.candidates, self.keep, self.rescale, self.extend = candidates, keep, rescale, extend

    def __len__(self) -> int:
        """Batches an epoch; the last may be short."""
        return -(-len(self.rows) // self.size)

    @property
    def n_points(self) -> int:
        return len(self.rows)

    @property
    def mean_features(self) -> float:
        return float(self.X.nnz / max(1, self.X.shape[0]))

    def epoch(self, epoch: int, team: Team | None = None) -> Iterator[Batch]:
        """All batches of this epoch, or this worker's share of each. Their order depends on seed and epoch only."""
        order = np.random.default_rng([self.seed, _ORDER, epoch]).permutation(self.rows)
        builders = (self._build(order[i * self.size : (i + 1) * self.size], epoch, i, team) for i in range(len(self)))
        return builders if get_threads() == 1 else _ahead(builders)

    def _build(self, rows: npt.NDArray[np.int64], epoch: int, index: int, team: Team | None) -> Batch:
        seed = (self.seed, _BATCH, epoch, index)
        rng = np.random.default_rng(seed)
        X, Y = self.X[rows], self.Y[rows]
        if self.keep < 1.0:
            X = _drop(X, self.keep, self.rescale, rng)
        batch = _share(rows, X, Y, seed, team)
        batch.ids["features"] = batch.X.ids
        if self.candidates is not None:
            drawn = self.candidates.draw(rows, Y, rng)
            batch.candidates = drawn if batch.share is None else drawn.of_rows(batch.share.first, batch.share.last)
            batch.ids["labels"] = drawn.labels
        if self.extend is not None:
            self.extend(batch, rng)
        return batch


def _share(
    rows: npt.NDArray[np.int64], X: sp.csr_matrix, Y: sp.csr_matrix, seed: tuple[int, ...], team: Team | None
) -> Batch:
    if team is None:
        return Batch(rows, LocalRows.from_csr(X), Y, seed)
    share = Share.of(len(rows), team)
    mine = slice(share.first, share.last)
    nothing = LocalRows.from_csr(X[:0])
    return Batch(
        rows[mine], LocalRows.from_csr(X[mine]), Y[mine], seed, share=share, whole=Batch(rows, nothing, Y, seed)
    )


def _drop(X: sp.csr_matrix, keep: float, rescale: bool, rng: np.random.Generator) -> sp.csr_matrix:
    """Feature dropout; a row that would lose every feature keeps them all."""
    kept = rng.random(X.nnz, dtype=np.float32) < keep
    lengths = np.diff(X.indptr)
    row_of = np.repeat(np.arange(X.shape[0]), lengths)
    left = np.bincount(row_of[kept], minlength=X.shape[0])
    kept |= (left == 0)[row_of]
    left = np.where(left == 0, lengths, left)
    data = X.data[kept] / np.float32(keep) if rescale else X.data[kept]
    return sp.csr_matrix((data, X.indices[kept], np.concatenate([[0], np.cumsum(left)])), shape=X.shape)


def _ahead(batches: Iterator[Batch]) -> Iterator[Batch]:
    """The same batches, built by a thread that stays a few ahead; its errors are raised here."""
    ready: queue.Queue[Batch | BaseException | None] = queue.Queue(maxsize=_AHEAD)
    stopped = threading.Event()

    def offer(item: Batch | BaseException | None) -> None:
        while not stopped.is_set():
            try:
                ready.put(item, timeout=0.1)
            except queue.Full:
                continue
            return

    def build() -> None:
        try:
            for batch in batches:
                offer(batch)
                if stopped.is_set():
                    return
            offer(None)
        except BaseException as error:  # noqa: BLE001 - handed to the consumer, who raises it
            offer(error)

    thread = threading.Thread(target=build, name="zipfel-batches", daemon=True)
    thread.start()
    try:
        while (item := ready.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stopped.set()
        thread.join()
