"""What is in a data set, in numbers: sizes, labels a point, points a label, head, torso and tail."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from zipfel.data.buckets import BUCKETS, HEAD_ABOVE, TAIL_UP_TO, buckets
from zipfel.data.dataset import Dataset


@dataclass(frozen=True)
class Bucket:
    """One group of labels by frequency: its labels, and how many (point, label) pairs fall to them."""

    name: str
    labels: int
    pairs: int
    label_share: float
    pair_share: float


@dataclass(frozen=True)
class Bar:
    """Labels that have between `low` and `high` points, both included."""

    low: int
    high: int
    labels: int
    bucket: str


@dataclass(frozen=True)
class Stats:
    """A data set in numbers; a point is a document.

    n_points, n_features, n_labels: sizes. features_a_point, labels_a_point, points_a_label: means.
    most_labels_a_point, most_points_a_label: the largest. labels_without_points, rows_without_labels,
    rows_without_features: how many there are. tail_share: share of labels with at most 5 documents.
    buckets: head, torso and tail. histogram: labels by their number of documents.

    >>> from zipfel.data import synth
    >>> stats(synth(100, 200, 10)).n_labels
    10
    """

    n_points: int
    n_features: int
    n_labels: int
    features_a_point: float
    labels_a_point: float
    most_labels_a_point: int
    points_a_label: float
    most_points_a_label: int
    labels_without_points: int
    tail_share: float
    rows_without_labels: int
    rows_without_features: int
    buckets: tuple[Bucket, ...]
    histogram: tuple[Bar, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON.

        >>> from zipfel.data import synth
        >>> stats(synth(100, 200, 10)).to_dict()["n_points"]
        100
        """
        return asdict(self)


def stats(dataset: Dataset) -> Stats:
    """Sizes, means and label frequencies of a dataset.

    >>> from zipfel.data import synth
    >>> [bucket.name for bucket in stats(synth(100, 200, 10)).buckets]
    ['head', 'torso', 'tail']
    """
    counts = dataset.label_counts()  # (n_labels,)
    labels_of = np.diff(dataset.Y.indptr)  # (n,)
    features_of = None if dataset.X is None else np.diff(dataset.X.indptr)
    groups = _buckets(counts)
    return Stats(
        n_points=dataset.n_points,
        n_features=dataset.n_features,
        n_labels=dataset.n_labels,
        features_a_point=0.0 if features_of is None else _mean(features_of),
        labels_a_point=_mean(labels_of),
        most_labels_a_point=int(labels_of.max(initial=0)),
        points_a_label=_mean(counts),
        most_points_a_label=int(counts.max(initial=0)),
        labels_without_points=int((counts == 0).sum()),
        tail_share=groups[-1].label_share,
        rows_without_labels=int((labels_of == 0).sum()),
        rows_without_features=_bare_rows(dataset),
        buckets=groups,
        histogram=_histogram(counts),
    )


def _bare_rows(dataset: Dataset) -> int:
    if dataset.X is not None:
        return int((np.diff(dataset.X.indptr) == 0).sum())
    return sum(not text.strip() for text in dataset.texts or ())


def _mean(values: np.ndarray[Any, Any]) -> float:
    return float(values.mean()) if len(values) else 0.0


def _buckets(counts: np.ndarray[Any, Any]) -> tuple[Bucket, ...]:
    which = buckets(counts)
    labels = np.bincount(which, minlength=len(BUCKETS))
    pairs = np.bincount(which, weights=counts, minlength=len(BUCKETS)).astype(np.int64)
    all_labels, all_pairs = max(1, len(counts)), max(1, int(counts.sum()))
    return tuple(
        Bucket(name, int(n), int(m), float(n / all_labels), float(m / all_pairs))
        for name, n, m in zip(BUCKETS, labels, pairs, strict=True)
    )


def _histogram(counts: np.ndarray[Any, Any]) -> tuple[Bar, ...]:
    """Bars that roughly double and stay within a bucket: 0, 1, 2, 3-5 | 6-10, 11-20, 21-50, 51-100 | 101-200..."""
    edges = [0, 1, 2, TAIL_UP_TO, 10, 20, 50, HEAD_ABOVE]
    top = int(counts.max(initial=0))
    for i in range(40):
        if edges[-1] >= top:
            break
        edges.append(HEAD_ABOVE * 10 ** (i // 3) * (2, 5, 10)[i % 3])
    last = next((i for i, edge in enumerate(edges) if edge >= top), len(edges) - 1)
    edges = edges[: last + 1]
    found = np.bincount(np.searchsorted(edges, counts), minlength=len(edges))
    lows = [0, *(edge + 1 for edge in edges[:-1])]
    names = [BUCKETS[b] for b in buckets(np.array(edges))]
    return tuple(Bar(a, b, int(n), name) for a, b, n, name in zip(lows, edges, found, names, strict=True))
