"""Label shards: the weights of the labels lie with several workers; each scores its own, and the scores are merged.

The driver finds the candidates of each document, and hands each shard the rows that have candidates there. What comes
back fills the places of its labels, and the driver ranks. A shard whose worker dies is set up again from the object
store, and only its last task is done again.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.classifier import Zipfel
from zipfel.data import Dataset
from zipfel.executor import use_label_shards
from zipfel.linear import LinearClassifiers, LinearConfig
from zipfel.ranking import Ranking
from zipfel.scale.cluster import RETRIES, fetched, ray_cluster
from zipfel.scale.shared_memory import writable
from zipfel.system.interrupts import check_halted
from zipfel.system.threads import use_threads

T = TypeVar("T")
WORTH_SENDING = 10_000
"""Weights of classifiers from which on they are cut into shards."""


@dataclass(frozen=True)
class Shard:
    """Labels from `first` to `last`, the worker that has them, and their arrays in the object store, from which it is
    set up again."""

    first: int
    last: int
    worker: Any
    arrays: Any


class RayLabelShards:
    """`executor.LabelShards` on a Ray cluster: so many shards of every set of classifiers, of even weight."""

    def __init__(self, ray: Any, n_shards: int, *, worth: int = WORTH_SENDING) -> None:
        self._ray, self.n_shards, self._worth = ray, n_shards, worth
        self._shards: dict[int, tuple[LinearClassifiers, list[Shard]]] = {}

    def score(self, classifiers: LinearClassifiers, X: sp.csr_matrix, labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """See `LabelShards.score`."""
        if classifiers.ends[-1] < self._worth:
            return classifiers.score_here(X, labels)
        sent = []
        for shard in self.shards_of(classifiers):
            own = (labels >= shard.first) & (labels < shard.last)
            rows = np.flatnonzero(own.any(axis=1))
            if len(rows):
                part = X[rows]
                local = np.where(own[rows], labels[rows] - shard.first, -1).astype(np.int64)
                task = shard.worker.score.remote(part.indptr, part.indices, part.data, local)
                sent.append((task, rows, own[rows]))
        out = np.full(labels.shape, -np.inf, dtype=np.float32)
        for task, rows, own in sent:
            while not self._ray.wait([task], timeout=0.2)[0]:
                check_halted()
            found = out[rows]
            found[own] = fetched(self._ray, task)[own]
            out[rows] = found
        return out

    def shards_of(self, classifiers: LinearClassifiers) -> list[Shard]:
        """Made when they are asked for the first time."""
        if id(classifiers) not in self._shards:
            made = [self._shard(classifiers, *span) for span in even_spans(classifiers.ends, self.n_shards)]
            self._shards[id(classifiers)] = classifiers, made
        return self._shards[id(classifiers)][1]

    def _shard(self, classifiers: LinearClassifiers, first: int, last: int) -> Shard:
        arrays = self._ray.put(classifiers.of_labels(first, last))
        worker = self._ray.remote(num_cpus=0, max_restarts=RETRIES, max_task_retries=RETRIES)(ShardWorker)
        sizes = classifiers.n_features, last - first
        config = {field.name: getattr(classifiers.config, field.name) for field in fields(LinearConfig)}
        return Shard(first, last, worker.remote(arrays, *sizes, config), arrays)


class ShardWorker:
    """In a process of its own: the classifiers of some labels."""

    def __init__(self, arrays: dict[str, Any], n_features: int, n_labels: int, config: dict[str, Any]) -> None:
        kept = {name: np.array(array) for name, array in arrays.items()}
        self._classifiers = LinearClassifiers.restored(kept, n_features, n_labels, LinearConfig(**config))

    def score(self, indptr: Any, indices: Any, values: Any, labels: Any) -> npt.NDArray[np.float32]:
        indptr, indices, values, labels = (writable(array) for array in (indptr, indices, values, labels))
        X = sp.csr_matrix((values, indices, indptr), shape=(len(indptr) - 1, self._classifiers.n_features))
        with use_threads(1):
            return self._classifiers.score_here(X, labels)


def even_spans(indptr: npt.NDArray[Any], n: int) -> list[tuple[int, int]]:
    """Runs of labels with about the same number of weights each, at most n; none is empty.

    >>> even_spans(np.array([0, 8, 9, 10, 12]), 2)
    [(0, 1), (1, 4)]
    """
    n_labels = len(indptr) - 1
    wanted = np.linspace(0, int(indptr[-1]), n + 1)[1:-1]
    cuts = np.clip(np.searchsorted(indptr, wanted), 1, max(1, n_labels - 1))
    edges = np.unique(np.concatenate([[0], cuts, [n_labels]])).tolist()
    return list(itertools.pairwise(edges))


def predict_by_label_shards(
    model: str | Path, partitions: Iterable[tuple[T, Dataset]], k: int, *, workers: int, address: str | None = None
) -> Iterator[tuple[T, Ranking | None]]:
    """`predict_partitions` by shards of labels instead of partitions of rows: for classifiers that are too large for
    every worker to hold. Scores equal those of one process but for rounding."""
    loaded = Zipfel.load(model)
    with ray_cluster(workers, address) as ray, use_label_shards(RayLabelShards(ray, workers)):
        for name, documents in partitions:
            yield name, loaded.predict(documents, k) if len(documents) else None
