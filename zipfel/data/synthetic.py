"""Synthetic data of any size that behaves like the real thing: few labels have most points, and features tell labels.

Each label owns a ring of signature features, drawn once by a hash. A point draws its first label by a power law. Some
of its other labels come from the neighbourhood of the first, so that labels co-occur. Each label adds a stretch of its
ring of features. Background features that depend on no label fill up the row.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.data.dataset import Dataset, label_matrix
from zipfel.data.growing import GrowingCSR
from zipfel.data.plain_rows import MAX_COLUMNS
from zipfel.errors import ParameterError

_BLOCK = 50_000
_SIGNAL = 0.8  # share of a point's features that come from its labels
_COMPANY = 0.5  # share of further labels that come from the first one's neighbourhood
_NEIGHBOURHOOD = 10
_EXPONENT = 0.9  # of the power law of label frequencies

Ints = npt.NDArray[np.int64]


def synth(
    n_points: int,
    n_features: int,
    n_labels: int,
    *,
    features_per_point: float = 75.0,
    labels_per_point: float = 5.5,
    seed: int = 0,
) -> Dataset:
    """A made-up data set that can be learned, with label frequencies that follow a power law.

    n_points, n_features, n_labels: its size. features_per_point, labels_per_point: means. seed: of the random numbers;
    the same arguments give the same data.

    >>> synth(1000, 200, 50).Y.shape
    (1000, 50)
    """
    _check(n_points, n_features, n_labels, features_per_point, labels_per_point)
    rng = np.random.default_rng([seed, n_features, n_labels])
    frequency = np.cumsum((np.arange(n_labels) + 2.0) ** -_EXPONENT)
    order = rng.permutation(n_labels)  # rank -> label id, so that an id does not tell a frequency
    X, Y = GrowingCSR(), GrowingCSR()
    for start in range(0, n_points, _BLOCK):
        rng = np.random.default_rng([seed, 1, start])
        n = min(_BLOCK, n_points - start)
        labels = _labels(rng, n, frequency / frequency[-1], order, labels_per_point)
        Y.append(np.diff(labels.indptr), labels.indices, labels.data)
        features = _features(rng, labels, n_features, features_per_point, labels_per_point, seed)
        X.append(np.diff(features.indptr), features.indices, features.data)
    return Dataset(Y=Y.finish(n_labels), X=X.finish(n_features), name=f"synth-{n_points}x{n_features}x{n_labels}")


def _labels(
    rng: np.random.Generator, n: int, frequency: npt.NDArray[np.float64], order: Ints, mean: float
) -> sp.csr_matrix:
    """(n, n_labels): at least one label each, `mean` of them on average before the few duplicates are merged."""
    counts = 1 + rng.poisson(mean - 1, n)
    rows = np.repeat(np.arange(n), counts)
    first = np.searchsorted(frequency, rng.random(n))
    ranks = np.searchsorted(frequency, rng.random(len(rows)))
    ranks[np.cumsum(counts) - counts] = first
    near = first[rows] + rng.integers(1, _NEIGHBOURHOOD + 1, len(rows))
    company = rng.random(len(rows)) < _COMPANY
    company[np.cumsum(counts) - counts] = False
    ranks = np.where(company, near, ranks) % len(frequency)
    return label_matrix(rows, order[ranks], (n, len(frequency)))


def _features(
    rng: np.random.Generator, labels: sp.csr_matrix, n_features: int, mean: float, labels_mean: float, seed: int
) -> sp.csr_matrix:
    """(n, n_features): 1 + log of how often a feature was drawn."""
    ring = max(1, math.ceil(1.5 * _SIGNAL * mean / labels_mean))
    n, owned = labels.shape[0], np.diff(labels.indptr)
    wanted = rng.poisson(mean, n)
    stretch = np.minimum(ring, np.ceil(_SIGNAL * wanted / owned).astype(np.int64))  # (n,) features of each label
    point = np.repeat(np.arange(n), owned)  # (pairs,)
    which, step = _runs(stretch[point])
    place = (rng.integers(0, ring, len(point))[which] + step) % ring
    signal = _skewed(_hashed(labels.indices[which].astype(np.int64) * ring + place, seed), n_features, 2)
    filler, _ = _runs(np.maximum(wanted - stretch * owned, 0))
    noise = _skewed(rng.random(len(filler)), n_features, 3)
    rows, columns = np.concatenate([point[which], filler]), np.concatenate([signal, noise])
    counts = sp.csr_matrix((np.ones(len(rows), dtype=np.float32), (rows, columns)), shape=(n, n_features))
    counts.sum_duplicates()
    counts.data = (1 + np.log(counts.data)).round(4)
    return counts


def _runs(lengths: Ints) -> tuple[Ints, Ints]:
    """(which run, place in it) for runs laid end to end: [2, 3] -> [0, 0, 1, 1, 1], [0, 1, 0, 1, 2]."""
    which = np.repeat(np.arange(len(lengths)), lengths)
    return which, np.arange(len(which)) - (np.cumsum(lengths) - lengths)[which]


def _hashed(keys: Ints, seed: int) -> npt.NDArray[np.float64]:
    """A fixed number in 0..1 for each key (the finaliser of SplitMix64)."""
    x = keys.astype(np.uint64) + np.uint64(seed * 0x9E3779B97F4A7C15 % (1 << 64))
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray((x ^ (x >> np.uint64(31))) / 2.0**64)


def _skewed(uniform: npt.NDArray[np.float64], n: int, power: int) -> Ints:
    """Random numbers from 0 to n - 1. Low numbers are more frequent than high ones."""
    return np.minimum((uniform**power * n).astype(np.int64), n - 1)


def _check(n_points: int, n_features: int, n_labels: int, features_per_point: float, labels_per_point: float) -> None:
    for name, value in (("n_points", n_points), ("n_features", n_features), ("n_labels", n_labels)):
        if not 1 <= value <= MAX_COLUMNS:
            raise ParameterError(f"{name} must lie between 1 and {MAX_COLUMNS:,}, got {value}")
    if not 1 <= labels_per_point <= n_labels:
        raise ParameterError(f"labels_per_point must lie between 1 and n_labels, got {labels_per_point}")
    if not 0 < features_per_point <= n_features:
        raise ParameterError(f"features_per_point must be above 0 and at most n_features, got {features_per_point}")
