"""Predictions by the workers of a cluster: partitions of rows in, rankings out, in the order of the rows."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from zipfel.data import Dataset
from zipfel.ranking import Ranking
from zipfel.scale.cluster import RETRIES, fetched, ray_cluster
from zipfel.scale.loaded import loaded_model
from zipfel.system.interrupts import check_halted
from zipfel.system.threads import use_threads

T = TypeVar("T")
_AHEAD = 2
"""Partitions that are sent ahead for each worker."""


def predict_partitions(
    model: str | Path, partitions: Iterable[tuple[T, Dataset]], k: int, *, workers: int, address: str | None = None
) -> Iterator[tuple[T, Ranking | None]]:
    """For each (name, documents), in order: the name and what `Zipfel.load(model).predict(documents, k)` gives, or None
    where there are no documents.

    A worker loads the model once; on several machines the folder must be reachable from all. Only a few partitions
    are held at a time. A partition whose worker dies is predicted again.
    """
    folder = str(Path(model).resolve())
    with ray_cluster(workers, address) as ray:
        remote = ray.remote(max_retries=RETRIES)(_predict)
        sent: deque[tuple[T, Any]] = deque()
        for name, documents in partitions:
            sent.append((name, remote.remote(folder, _loose(documents), k) if len(documents) else None))
            if len(sent) > _AHEAD * workers:
                yield _received(ray, *sent.popleft())
        while sent:
            yield _received(ray, *sent.popleft())


def _loose(partition: Dataset) -> Dataset:
    """Only what a model reads, and texts as a list."""
    texts = None if partition.texts is None else list(partition.texts)
    return Dataset(Y=partition.Y[:, :0], X=partition.X, texts=texts, embeddings=partition.embeddings)


def _received(ray: Any, name: T, reference: Any) -> tuple[T, Ranking | None]:
    if reference is None:
        return name, None
    while not ray.wait([reference], timeout=0.2)[0]:
        check_halted()
    return name, fetched(ray, reference)


def _predict(folder: str, partition: Dataset, k: int) -> Ranking:
    with use_threads(1):
        return loaded_model(folder).predict(partition, k)
