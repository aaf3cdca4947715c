"""Label shards: the weights of the labels lie with several workers; each scores its own, and the scores are merged.

A shard has similar labels, so that the candidates of a document lie in few shards. The driver finds the candidates of
each document, and hands each shard the rows that have candidates there. What comes back fills the places of its labels,
and the driver ranks. A shard whose worker dies is set up again from the object store, and only its last task is done
again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.classifier import Zipfel
from zipfel.data import Dataset
from zipfel.executor import use_label_shards
from zipfel.linear import LinearClassifiers, LinearConfig
from zipfel.ranking import Ranking
from zipfel.scale.cluster import RETRIES, fetched, ray_cluster
from zipfel.scale.label_clusters import balanced_clusters, positive_directions
from zipfel.scale.shared_memory import writable
from zipfel.system.interrupts import check_halted
from zipfel.system.threads import use_threads

T = TypeVar("T")
WORTH_SENDING = 10_000
"""Weights of classifiers from which on they are cut into shards."""


@dataclass(frozen=True)
class Shard:
    """Some labels in rising order, the worker that has them, and their arrays in the object store, from which it is set
    up again."""

    labels: npt.NDArray[np.int64]
    worker: Any
    arrays: Any


@dataclass(frozen=True)
class Cut:
    """The labels of one set of classifiers in clusters.

    cluster: (n_labels,) of each label; place: (n_labels,) where each is among those of its cluster.
    """

    cluster: npt.NDArray[np.int32]
    place: npt.NDArray[np.int32]

    @classmethod
    def into(cls, clusters: npt.NDArray[Any]) -> Cut:
        """Clusters are numbered anew where some are empty."""
        cluster = np.unique(clusters, return_inverse=True)[1].astype(np.int32)
        place = np.empty(len(cluster), dtype=np.int32)
        for i in range(cluster.max(initial=-1) + 1):
            own = np.flatnonzero(cluster == i)
            place[own] = np.arange(len(own))
        return cls(cluster, place)

    @classmethod
    def of(cls, classifiers: LinearClassifiers, n: int, asked: npt.NDArray[Any]) -> Cut:
        """At most n clusters of similar labels. Each has about its share of the weights and of the labels that are
        asked for, -1 for none."""
        n_weights = np.diff(classifiers.ends) + 1.0
        n_asked = np.bincount(asked[asked >= 0], minlength=len(n_weights))
        work = n_weights / n_weights.mean() + n_asked / max(n_asked.mean(), 1e-9)
        return cls.into(balanced_clusters(positive_directions(classifiers), work, n, np.random.default_rng(0)))

    def parcel(self, cluster: int, labels: npt.NDArray[Any]) -> Parcel:
        """What the shard of this cluster scores of the labels (n, k), where -1 is none."""
        own = (labels >= 0) & (self.cluster[labels] == cluster)
        rows = np.flatnonzero(own.any(axis=1))
        own = own[rows]
        return Parcel(rows, own, own.sum(axis=1, dtype=np.int32), self.place[labels[rows][own]])


class Parcel(NamedTuple):
    """rows: (m,) which rows have labels in the shard; own: (m, k) which ones; counts: (m,) how many; places: (p,) where
    these are in the shard, row by row."""

    rows: npt.NDArray[np.int64]
    own: npt.NDArray[np.bool_]
    counts: npt.NDArray[np.int32]
    places: npt.NDArray[np.int32]

    def unpack(self, scores: npt.NDArray[np.float32], out: npt.NDArray[np.float32]) -> None:
        """Writes the scores (p,) of the places where they belong in out (n, k)."""
        whole = out[self.rows]
        whole[self.own] = scores
        out[self.rows] = whole


class RayLabelShards:
    """`executor.LabelShards` on a Ray cluster: so many shards of every set of classifiers, each of similar labels."""

    def __init__(self, ray: Any, n_shards: int, *, worth: int = WORTH_SENDING) -> None:
        self._ray, self.n_shards, self._worth = ray, n_shards, worth
        self._shards: dict[int, tuple[LinearClassifiers, Cut, list[Shard]]] = {}

    def score(self, classifiers: LinearClassifiers, X: sp.csr_matrix, labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """See `LabelShards.score`. The first call sets up the shards, by the labels that it asks for."""
        if classifiers.ends[-1] < self._worth:
            return classifiers.score_here(X, labels)
        if id(classifiers) not in self._shards:
            cut = Cut.of(classifiers, self.n_shards, labels)
            made = [self._shard(classifiers, np.flatnonzero(cut.cluster == i)) for i in range(cut.cluster.max() + 1)]
            self._shards[id(classifiers)] = classifiers, cut, made
        _, cut, shards = self._shards[id(classifiers)]
        sent = []
        for i, shard in enumerate(shards):
            parcel = cut.parcel(i, labels)
            if len(parcel.rows):
                part = X[parcel.rows]
                task = shard.worker.score.remote(part.indptr, part.indices, part.data, parcel.counts, parcel.places)
                sent.append((task, parcel))
        out = np.full(labels.shape, -np.inf, dtype=np.float32)
        for task, parcel in sent:
            while not self._ray.wait([task], timeout=0.2)[0]:
                check_halted()
            parcel.unpack(fetched(self._ray, task), out)
        return out

    def _shard(self, classifiers: LinearClassifiers, labels: npt.NDArray[np.int64]) -> Shard:
        arrays = self._ray.put(classifiers.of_labels(labels))
        worker = self._ray.remote(num_cpus=0, max_restarts=RETRIES, max_task_retries=RETRIES)(ShardWorker)
        sizes = classifiers.n_features, len(labels)
        config = {field.name: getattr(classifiers.config, field.name) for field in fields(LinearConfig)}
        return Shard(labels, worker.remote(arrays, *sizes, config), arrays)


class ShardWorker:
    """In a process of its own: the classifiers of some labels."""

    def __init__(self, arrays: dict[str, Any], n_features: int, n_labels: int, config: dict[str, Any]) -> None:
        kept = {name: np.array(array) for name, array in arrays.items()}
        self._classifiers = LinearClassifiers.restored(kept, n_features, n_labels, LinearConfig(**config))

    def score(self, indptr: Any, indices: Any, values: Any, counts: Any, places: Any) -> npt.NDArray[np.float32]:
        """(p,) scores of the labels at these places, counts (m,) of them for each row."""
        X = sp.csr_matrix(tuple(map(writable, (values, indices, indptr))), (len(counts), self._classifiers.n_features))
        filled = np.arange(counts.max()) < counts[:, None]
        labels = np.full(filled.shape, -1, dtype=np.int64)
        labels[filled] = places
        with use_threads(1):
            scores: npt.NDArray[np.float32] = self._classifiers.score_here(X, labels)[filled]
            return scores


def predict_by_label_shards(
    model: str | Path, partitions: Iterable[tuple[T, Dataset]], k: int, *, workers: int, address: str | None = None
) -> Iterator[tuple[T, Ranking | None]]:
    """`predict_partitions` by shards of labels instead of partitions of rows: for classifiers that are too large for
    every worker to hold. Scores equal those of one process but for rounding."""
    loaded = Zipfel.load(model)
    with ray_cluster(workers, address) as ray, use_label_shards(RayLabelShards(ray, workers)):
        for name, documents in partitions:
            yield name, loaded.predict(documents, k) if len(documents) else None
