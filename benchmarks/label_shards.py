"""What clusters of labels bring to `predict --by labels`: shards that a document is sent to, and bytes on their way.

    python -m benchmarks.label_shards ../shared/data/eurlex57k ../shared/data/debian-deps [--shards 4,16,64]
                                      [--documents 2000] [--out benchmarks/results/label_shards.jsonl]

A model is fitted by `auto --preset quick`. Its labels are cut into shards once in the order of their numbers, with the
same number of weights each, and once by clusters (`zipfel.scale.label_clusters`). The first 500 documents of test set
up the shards; the next ones, at most --documents, are scored. A row has, for one cut:

    shards        that a document is sent to, on average
    kb            of a document and its candidates to the shards, and of the scores back
    weights       of the fullest shard, as a multiple of the mean
    candidates    of the busiest shard, as a multiple of the mean
    fit_rows      documents that the workers of the classifiers' fit would need, in multiples of train, if each worker
                  learnt the labels of one shard
"""

from __future__ import annotations

import argparse
import itertools
import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from benchmarks.workers import files_of
from zipfel import Zipfel
from zipfel.bench.runner import append_record
from zipfel.data import read
from zipfel.linear import LinearClassifiers, Problems
from zipfel.scale.label_shards import Cut

FIRST = 500
"""Documents that set up the shards."""
Array = npt.NDArray[Any]


def by_number(classifiers: LinearClassifiers, n: int) -> Cut:
    """Runs of labels with about the same number of weights each."""
    borders = np.linspace(0, int(classifiers.ends[-1]), n + 1)[1:-1]
    middles = (classifiers.ends[1:] + classifiers.ends[:-1]) / 2
    return Cut.into(np.digitize(middles, borders))


def traffic(cut: Cut, X: sp.csr_matrix, labels: Array) -> tuple[float, float]:
    """(shards, bytes) of a document, on average: rows X and their candidates (n, k)."""
    sent, size = 0, 0
    for cluster in range(cut.cluster.max() + 1):
        parcel = cut.parcel(cluster, labels)
        part = X[parcel.rows]
        sent += len(parcel.rows)
        size += part.data.nbytes + part.indices.nbytes + part.indptr.nbytes
        size += parcel.counts.nbytes + parcel.places.nbytes + 4 * parcel.places.size
    return sent / len(labels), size / len(labels)


def row_of(
    cut: Cut, classifiers: LinearClassifiers, X: sp.csr_matrix, labels: Array, problems: Problems
) -> dict[str, Any]:
    shards, size = traffic(cut, X, labels)
    n_asked = np.bincount(labels[labels >= 0], minlength=len(cut.cluster))
    shares = [np.bincount(cut.cluster, part) for part in (np.diff(classifiers.ends), n_asked)]
    of_shard = np.repeat(cut.cluster.astype(np.int64), np.diff(problems.ptr))
    n_rows = int(problems.docs.max()) + 1
    return {
        "shards": round(shards, 2),
        "kb": round(size / 1e3, 1),
        "weights": round(float(shares[0].max() / shares[0].mean()), 2),
        "candidates": round(float(shares[1].max() / shares[1].mean()), 2),
        "fit_rows": round(len(np.unique(of_shard * n_rows + problems.docs)) / n_rows, 1),
    }


def asked_of(data: Path, n_documents: int) -> tuple[LinearClassifiers, Problems, sp.csr_matrix, Array]:
    """(classifiers, their last problems, rows of test, candidates of each row) of one fit."""
    train, test = map(read, files_of(data))
    fit, score = LinearClassifiers.fit, LinearClassifiers.score
    fits: list[Problems] = []
    scores: list[tuple[LinearClassifiers, sp.csr_matrix, Array]] = []

    def fit_seen(self: LinearClassifiers, X: sp.csr_matrix, problems: Problems, **given: Any) -> LinearClassifiers:
        fits.append(problems)
        return fit(self, X, problems, **given)

    def score_seen(self: LinearClassifiers, X: sp.csr_matrix, labels: Array) -> Array:
        scores.append((self, X, labels))
        return score(self, X, labels)

    with patch.object(LinearClassifiers, "fit", fit_seen):
        model = Zipfel("auto", preset="quick", threads=1, seed=1).fit(train)
    with patch.object(LinearClassifiers, "score", score_seen):
        model.predict(test.take(np.arange(min(FIRST + n_documents, test.n_points))), 5)
    classifiers = scores[0][0]
    width = max(labels.shape[1] for _, _, labels in scores)
    padded = [np.pad(labels, ((0, 0), (0, width - labels.shape[1])), constant_values=-1) for _, _, labels in scores]
    return classifiers, fits[-1], sp.vstack([X for _, X, _ in scores], format="csr"), np.concatenate(padded)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--shards", default="4,16,64")
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args(arguments)
    for data in given.data:
        classifiers, problems, X, labels = asked_of(data, given.documents)
        for n, kind in itertools.product(map(int, given.shards.split(",")), ("numbers", "clusters")):
            cut = by_number(classifiers, n) if kind == "numbers" else Cut.of(classifiers, n, labels[:FIRST])
            row = {"data": data.name, "n_shards": n, "cut": kind}
            row |= row_of(cut, classifiers, X[FIRST:], labels[FIRST:], problems)
            print(json.dumps(row), flush=True)
            if given.out is not None:
                append_record(given.out, row)


if __name__ == "__main__":
    main()
