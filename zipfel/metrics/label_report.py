"""A report per label, as scikit-learn's `classification_report`: precision, recall, F1, support; and failures."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.data import BUCKETS, buckets
from zipfel.errors import ParameterError, nearest
from zipfel.metrics.per_label import LabelScores, is_hit, label_scores
from zipfel.ranking import PAD, Ranking, data_frame

Array = npt.NDArray[Any]
COLUMNS = ("label", "bucket", "train", "support", "given", "hits", "precision", "recall", "f1", "missed", "wrong")


def check_column(name: str) -> None:
    """Refuses a name that no column of the report has."""
    if name not in COLUMNS:
        raise ParameterError(f"there is no column {name!r:.40} to sort by{nearest(name, COLUMNS)}")


class Failure(NamedTuple):
    """A label that is missed or given wrongly. times: documents; documents: the first of them, by row."""

    label: str
    times: int
    documents: list[int]


@dataclass(frozen=True)
class LabelReport:
    """Precision, recall and F1 of each label that is true or given anywhere; `Zipfel.label_report` makes one.

    names: of the labels; scores: their counts; counts: (n_labels,) training documents; given: the labels that documents
    got; truth: (n, n_labels) those that they have.

    >>> given = Ranking(np.array([[0], [0]]), np.ones((2, 1), dtype=np.float32))
    >>> report = LabelReport.of(given, sp.csr_matrix(np.eye(2)), np.array([5, 9]), ["bike", "boat"])
    >>> [(row["label"], row["support"], row["given"]) for row in report.rows()]
    [('bike', 1, 2), ('boat', 1, 0)]
    """

    names: Sequence[str]
    scores: LabelScores
    counts: Array
    given: Ranking
    truth: sp.csr_matrix

    @classmethod
    def of(cls, given: Ranking, truth: sp.csr_matrix, counts: Array, names: Sequence[str] | None) -> LabelReport:
        """The report of rankings. given, truth, counts, names: as in the class; truth may have labels that are new.

        >>> given = Ranking(np.array([[0], [0]]), np.ones((2, 1), dtype=np.float32))
        >>> report = LabelReport.of(given, sp.csr_matrix(np.eye(2)), np.array([5, 9]), ["bike", "boat"])
        >>> [(row["label"], row["precision"], row["recall"]) for row in report.rows()]
        [('bike', 0.5, 1.0), ('boat', 0.0, 0.0)]
        """
        scores = label_scores(given, truth, max(1, given.k))
        width = len(scores.support)
        padded = np.pad(counts, (0, max(0, width - len(counts))))[:width]
        return cls(names or [str(i) for i in range(width)], scores, padded, given, truth)

    def rows(self, sort: str = "support", *, ascending: bool = False) -> list[dict[str, Any]]:
        """A dictionary for each label. sort: a key, the largest first; ascending: the smallest first.

        >>> given = Ranking(np.array([[0], [0]]), np.ones((2, 1), dtype=np.float32), ["bike", "boat"])
        >>> report = LabelReport.of(given, sp.csr_matrix(np.eye(2)), np.array([5, 9]), ["bike", "boat"])
        >>> report.rows(sort="recall", ascending=True)[0]["label"]
        'boat'
        """
        check_column(sort)
        s, met = self.scores, np.flatnonzero(self.scores.support + self.scores.predicted > 0)
        columns = (s.support, s.predicted, s.hits, s.precision, s.recall, s.f1, s.missed, s.wrong)
        numbers = [column[met].tolist() for column in columns]
        head = [BUCKETS[b] for b in buckets(self.counts[met])]
        names = [self.names[label] for label in met.tolist()]
        table = zip(names, head, self.counts[met].tolist(), *numbers, strict=True)
        found = [dict(zip(COLUMNS, row, strict=True)) for row in table]
        return sorted(found, key=lambda row: row[sort], reverse=not ascending)

    def to_csv(self, sort: str = "support") -> str:
        """The rows as CSV text with a header. sort: a column.

        >>> given = Ranking(np.array([[0], [0]]), np.ones((2, 1), dtype=np.float32), ["bike", "boat"])
        >>> report = LabelReport.of(given, sp.csr_matrix(np.eye(2)), np.array([5, 9]), ["bike", "boat"])
        >>> report.to_csv().splitlines()[0][:19]
        'label,bucket,train,'
        """
        out = io.StringIO()
        writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows(sort))
        return out.getvalue()

    def to_frame(self, sort: str = "support", library: str | None = None) -> Any:
        """The rows as a data frame. sort: a column; library: "pandas" or "polars", None: pandas, if it is there.

        >>> given = Ranking(np.array([[0], [0]]), np.ones((2, 1), dtype=np.float32), ["bike", "boat"])
        >>> report = LabelReport.of(given, sp.csr_matrix(np.eye(2)), np.array([5, 9]), ["bike", "boat"])
        >>> len(report.to_frame())
        2
        """
        rows = self.rows(sort)
        return data_frame({name: [row[name] for row in rows] for name in COLUMNS}, library)

    def most_missed(self, n: int = 10, documents: int = 3) -> list[Failure]:
        """The n labels that most documents have and did not get. documents: how many of them are named.

        >>> given = Ranking(np.array([[0], [0]]), np.ones((2, 1), dtype=np.float32), ["bike", "boat"])
        >>> report = LabelReport.of(given, sp.csr_matrix(np.eye(2)), np.array([5, 9]), ["bike", "boat"])
        >>> report.most_missed()
        [Failure(label='boat', times=1, documents=[1])]
        """
        rows = np.repeat(np.arange(self.truth.shape[0]), np.diff(self.truth.indptr))
        is_given = is_hit(self.truth.indices[:, None], _given_csr(self.given, len(self.scores.support))[rows])[:, 0]
        return self._failures(rows[~is_given], self.truth.indices[~is_given], n, documents)

    def most_wrong(self, n: int = 10, documents: int = 3) -> list[Failure]:
        """The n labels that were wrongly given to most documents. documents: how many of them are named.

        >>> given = Ranking(np.array([[0], [0]]), np.ones((2, 1), dtype=np.float32), ["bike", "boat"])
        >>> report = LabelReport.of(given, sp.csr_matrix(np.eye(2)), np.array([5, 9]), ["bike", "boat"])
        >>> report.most_wrong()
        [Failure(label='bike', times=1, documents=[1])]
        """
        wrong = (self.given.labels != PAD) & ~is_hit(self.given.labels, self.truth)
        rows, places = np.nonzero(wrong)
        return self._failures(rows, self.given.labels[rows, places], n, documents)

    def _failures(self, rows: Array, labels: Array, n: int, documents: int) -> list[Failure]:
        times = np.bincount(labels, minlength=1)
        worst = [label for label in np.argsort(-times, kind="stable")[:n].tolist() if times[label]]
        return [
            Failure(self.names[label], int(times[label]), rows[labels == label][:documents].tolist()) for label in worst
        ]


def _given_csr(given: Ranking, n_labels: int) -> sp.csr_matrix:
    """(n, n_labels) ones."""
    matrix = given.to_csr(n_labels)
    matrix.data[:] = 1
    return matrix
