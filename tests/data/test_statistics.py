from __future__ import annotations

import json

import numpy as np
import scipy.sparse as sp

from zipfel.data import Dataset, label_matrix, stats


def with_counts(counts: list[int]) -> Dataset:
    """Label i has counts[i] points; one more row has no labels."""
    columns = np.repeat(np.arange(len(counts)), counts)
    rows = np.concatenate([np.arange(n) for n in counts])
    n = max(counts) + 1
    return Dataset(Y=label_matrix(rows, columns, (n, len(counts))), X=sp.eye(n, 7, format="csr", dtype=np.float32))


def test_numbers() -> None:
    found = stats(with_counts([0, 1, 5, 6, 100, 101]))
    assert (found.n_points, found.n_features, found.n_labels) == (102, 7, 6)
    assert found.labels_a_point == 213 / 102
    assert found.points_a_label == 213 / 6
    assert (found.most_labels_a_point, found.most_points_a_label, found.labels_without_points) == (5, 101, 1)
    assert found.rows_without_labels == 1
    assert found.rows_without_features == 95
    assert found.tail_share == 0.5
    assert [(b.name, b.labels, b.pairs) for b in found.buckets] == [("head", 1, 101), ("torso", 2, 106), ("tail", 3, 6)]


def test_bars_hold_every_label_once_and_stay_in_a_bucket() -> None:
    counts = [0, 1, 2, 3, 5, 6, 10, 11, 99, 100, 101, 200, 201, 4000]
    found = stats(with_counts(counts))
    assert sum(bar.labels for bar in found.histogram) == len(counts)
    for bar in found.histogram:
        assert bar.labels == sum(bar.low <= n <= bar.high for n in counts)
    for bucket in found.buckets:
        assert bucket.labels == sum(bar.labels for bar in found.histogram if bar.bucket == bucket.name)


def test_texts_and_no_labels() -> None:
    found = stats(Dataset(Y=sp.csr_matrix((2, 0), dtype=np.float32), texts=["a", " "]))
    assert (found.n_labels, found.labels_a_point, found.tail_share, found.rows_without_features) == (0, 0, 0, 1)
    assert json.loads(json.dumps(found.to_dict()))["n_points"] == 2
