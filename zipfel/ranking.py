"""The one result type: for each document its best labels, best first."""

from __future__ import annotations

import html
import importlib
import importlib.util
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.errors import ParameterError, ZipfelError

PAD = -1
"""Label id that fills the row of a document with fewer than k labels; its score is -inf."""
_FRAMES = ("pandas", "polars")
_FEW = 1000
"""Scores up to which sorting all of them is faster than finding the best first."""


_SHOWN_ROWS, _SHOWN_WIDTH, _TABLE_ROWS = 5, 100, 20
"""Documents and letters of each that `repr` shows, and rows of a notebook's table."""


@dataclass(frozen=True, repr=False)
class Ranking:
    """Labels of n documents, best first. Of equal scores the lowest label id comes first.

    >>> ranking = Ranking(np.array([[1, 0], [0, -1]]), np.array([[0.9, 0.5], [0.25, -np.inf]]), ["bike", "boat"])
    >>> ranking
    Ranking of 2 documents, k=2
      0: boat 0.9, bike 0.5
      1: bike 0.25
    >>> ranking[0]
    [('boat', 0.9), ('bike', 0.5)]
    >>> ranking.names
    [['boat', 'bike'], ['bike']]

    A row is a list of (label, score) pairs: `ranking[i]`, `for row in ranking`. A slice, a mask or several row numbers
    give a Ranking. `to_frame()` is a table of pandas or polars, `np.asarray(ranking)` the label ids.

    >>> ranking.n_points, ranking.k, ranking.shape, len(ranking)
    (2, 2, (2, 2), 2)

    labels: (n, k) int64 label ids, `PAD` where a row has fewer than k labels (only at the row's end).
    scores: (n, k) float32, -inf where labels is `PAD`. A fitted estimator gives probabilities. They may rise within a
        row, because a bonus for rare labels changes the order only.
    label_names: name of every label id, if the model has names.
    """

    labels: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float32]
    label_names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if self.labels.shape != self.scores.shape or self.labels.ndim != 2:
            raise ValueError(f"labels {self.labels.shape} and scores {self.scores.shape} must be of one shape (n, k)")

    @property
    def n_points(self) -> int:
        """Number of documents."""
        return int(self.labels.shape[0])

    @property
    def k(self) -> int:
        """Number of columns: the most labels of a document."""
        return int(self.labels.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        """(n_points, k)."""
        return self.n_points, self.k

    def __len__(self) -> int:
        return self.n_points

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """`np.asarray(ranking)` is its label ids."""
        if _asked_by_a_metric():
            raise ParameterError(
                "scikit-learn's own metrics can't compare rankings: use scoring=zipfel.metrics.scorer('P@3'), "
                "evaluate(), or a metric of scores, such as label_ranking_average_precision_score, on "
                "decision_function(X).toarray()"
            )
        return np.array(self.labels, dtype=dtype) if copy else np.asarray(self.labels, dtype=dtype)

    @overload
    def __getitem__(self, rows: int | np.integer[Any]) -> list[tuple[str, float]]: ...

    @overload
    def __getitem__(self, rows: slice | Sequence[int] | npt.NDArray[Any]) -> Ranking: ...

    def __getitem__(self, rows: Any) -> Any:
        """One document's (label, score) pairs, or the Ranking of several documents."""
        if isinstance(rows, int | np.integer) and not isinstance(rows, bool):
            return self._pairs(self.labels[rows].tolist(), self.scores[rows].tolist())
        rows = rows if isinstance(rows, slice | tuple) else np.asarray(rows)
        return Ranking(self.labels[rows], self.scores[rows], self.label_names)

    def __iter__(self) -> Iterator[list[tuple[str, float]]]:
        return self.rows()

    def __repr__(self) -> str:
        noun = "document" if self.n_points == 1 else "documents"
        lines = [f"Ranking of {self.n_points:,} {noun}, k={self.k}"]
        for i in range(min(self.n_points, _SHOWN_ROWS)):
            line = f"  {i}: " + ", ".join(f"{printable(name)} {score:.3g}" for name, score in self[i])
            lines.append(line if len(line) <= _SHOWN_WIDTH else line[: _SHOWN_WIDTH - 3] + "...")
        return "\n".join([*lines, "  ..."] if self.n_points > _SHOWN_ROWS else lines)

    def _repr_html_(self) -> str:
        """The table that notebooks show: a row for each of the first documents."""
        head = "".join(f"<th>{rank}</th>" for rank in range(1, self.k + 1))
        body = "".join(
            f"<tr><th>{i}</th>"
            + "".join(f"<td>{html.escape(name)} <small>{score:.3g}</small></td>" for name, score in self[i])
            + "</tr>"
            for i in range(min(self.n_points, _TABLE_ROWS))
        )
        rest = self.n_points - _TABLE_ROWS
        more = f"<p>and {rest:,} more documents</p>" if rest > 0 else ""
        return f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table>{more}"

    @property
    def names(self) -> list[list[str]]:
        """For each document the names of its labels, best first, without the padding."""
        return [[name for name, _ in row] for row in self]

    def to_frame(self, library: str | None = None) -> Any:
        """A data frame with a row for each label of a document.

        Columns: `document`, its number in the ranking; `rank`, from 1 on; `label`, the name; `score`.
        library: "pandas" or "polars". None: pandas, or polars if there is no pandas.

        >>> Ranking(np.array([[1, 0]]), np.array([[0.9, 0.5]]), ["bike", "boat"]).to_frame()["label"].to_list()
        ['boat', 'bike']
        """
        document, place = np.nonzero(self.labels != PAD)
        labels = [self.name(label) for label in self.labels[document, place].tolist()]
        columns = {"document": document, "rank": place + 1, "label": labels, "score": self.scores[document, place]}
        return data_frame(columns, library)

    def top(self, k: int) -> Ranking:
        """The first k columns.

        >>> Ranking(np.array([[1, 0]]), np.array([[0.9, 0.5]])).top(1)[0]
        [('1', 0.9)]
        """
        return Ranking(self.labels[:, :k], self.scores[:, :k], self.label_names)

    def with_names(self, label_names: Sequence[str] | None) -> Ranking:
        """The same labels and scores with other names. label_names: of every label id; None: numbers.

        >>> Ranking(np.array([[1, 0]]), np.array([[0.9, 0.5]])).with_names(["bike", "boat"]).names
        [['boat', 'bike']]
        """
        return Ranking(self.labels, self.scores, label_names)

    def name(self, label: int) -> str:
        """The name of a label id, or the number if there are no names.

        >>> Ranking(np.array([[1]]), np.array([[0.9]]), ["bike", "boat"]).name(1)
        'boat'
        """
        return self.label_names[label] if self.label_names is not None else str(label)

    def rows(self) -> Iterator[list[tuple[str, float]]]:
        """For each document its (label name, score) pairs, without the padding.

        >>> list(Ranking(np.array([[1, -1]]), np.array([[0.5, -np.inf]]), ["bike", "boat"]).rows())
        [[('boat', 0.5)]]
        """
        for labels, scores in zip(self.labels.tolist(), self.scores.tolist(), strict=True):
            yield self._pairs(labels, scores)

    def _pairs(self, labels: list[int], scores: list[float]) -> list[tuple[str, float]]:
        return [(self.name(label), score) for label, score in zip(labels, scores, strict=True) if label != PAD]

    def to_csr(self, n_labels: int) -> sp.csr_matrix:
        """Scores as a sparse matrix (n, n_labels). A label that is not ranked is not stored.

        >>> Ranking(np.array([[1, -1]]), np.array([[0.5, -np.inf]])).to_csr(n_labels=3).toarray().tolist()
        [[0.0, 0.5, 0.0]]
        """
        kept = self.labels != PAD
        indptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
        matrix = sp.csr_matrix((self.scores[kept], self.labels[kept], indptr), shape=(self.n_points, n_labels))
        matrix.sort_indices()
        return matrix

    @classmethod
    def from_csr(cls, scores: sp.csr_matrix, k: int) -> Ranking:
        """The k largest stored values of each row. scores: (n, n_labels), any sparse format.

        >>> Ranking.from_csr(sp.csr_matrix(np.array([[0.1, 0.9, 0.0]])), k=1).labels.tolist()
        [[1]]
        """
        scores = scores.tocsr()
        n_points = scores.shape[0]
        rows = np.repeat(np.arange(n_points), np.diff(scores.indptr))
        order = np.lexsort((scores.indices, -scores.data, rows))
        rank = np.arange(len(rows)) - scores.indptr[rows]  # rows are sorted already, so rank is by position
        labels = np.full((n_points, k), PAD, dtype=np.int64)
        values = np.full((n_points, k), -np.inf, dtype=np.float32)
        kept = rank < k
        labels[rows[kept], rank[kept]] = scores.indices[order][kept]
        values[rows[kept], rank[kept]] = scores.data[order][kept]
        return cls(labels, values)

    @classmethod
    def from_dense(
        cls, scores: npt.NDArray[np.float32], k: int, labels: npt.NDArray[np.int64] | None = None
    ) -> Ranking:
        """The k best of each row of scores (n, c). labels: (n, c) ids of the columns; None: 0 to c-1.

        A score of -inf is no candidate. Meant for a block of rows or for shortlists: the caller keeps n small.

        >>> Ranking.from_dense(np.array([[0.1, 0.9, 0.5]], dtype=np.float32), k=2).labels.tolist()
        [[1, 2]]
        """
        n_candidates = scores.shape[1]
        if labels is None:
            labels = np.broadcast_to(np.arange(n_candidates, dtype=np.int64), scores.shape)
        if n_candidates > 4 * k and scores.size > _FEW:
            # The k-th value cuts; everything equal to it stays in, so that ties still go to the lowest id.
            cut = -np.partition(-scores, k - 1, axis=1)[:, k - 1 : k]
            width = max(k, int((scores >= cut).sum(axis=1).max(initial=0)))
            keep = np.argpartition(-scores, min(width, n_candidates) - 1, axis=1)[:, :width]
            scores, labels = np.take_along_axis(scores, keep, 1), np.take_along_axis(labels, keep, 1)
        order = np.lexsort((labels, -scores))[:, :k]
        best = np.take_along_axis(labels, order, 1).astype(np.int64)
        values = np.take_along_axis(scores, order, 1).astype(np.float32)
        best[np.isneginf(values)] = PAD
        if best.shape[1] < k:
            short = ((0, 0), (0, k - best.shape[1]))
            best = np.pad(best, short, constant_values=PAD)
            values = np.pad(values, short, constant_values=-np.inf)
        return cls(best, values)

    @classmethod
    def concatenate(cls, parts: Sequence[Ranking]) -> Ranking:
        """One ranking of the documents of all parts, which have the same k and the same label names.

        >>> one = Ranking(np.array([[1]]), np.array([[0.5]]))
        >>> Ranking.concatenate([one, one]).n_points
        2
        """
        names = parts[0].label_names
        return cls(np.concatenate([p.labels for p in parts]), np.concatenate([p.scores for p in parts]), names)


def data_frame(columns: Mapping[str, Any], library: str | None = None) -> Any:
    """A data frame of the library that is named, or of pandas, or else of polars."""
    if library not in (None, *_FRAMES):
        raise ParameterError(f"library must be one of {', '.join(_FRAMES)}; got {library!r:.40}")
    found = next((name for name in _FRAMES if library in (None, name) and importlib.util.find_spec(name)), None)
    if found is None:
        raise ZipfelError(f"to_frame needs {library or 'pandas or polars'}: pip install {library or 'pandas'}")
    return importlib.import_module(found).DataFrame(dict(columns))


def printable(name: str) -> str:
    """A name without what a terminal would act on, such as escape codes and line breaks."""
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in name)


def _asked_by_a_metric() -> bool:
    """Whether scikit-learn's classification metrics ask for an array, to which (n, k) ids mean something else."""
    frame = sys._getframe(2)
    for _ in range(8):
        if str(frame.f_globals.get("__name__")) in ("sklearn.utils.multiclass", "sklearn.metrics._classification"):
            return True
        if frame.f_back is None:
            return False
        frame = frame.f_back
    return False
