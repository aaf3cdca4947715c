"""Feature rows with their labels, and their texts and embeddings where there are some: what everything learns from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

Texts = Sequence[str | None]
"""A text a row; None where a row has none."""
Vectors = npt.NDArray[np.float32]
"""(n, dim) embeddings that the user gave, a row of zeros where a document has none."""


@dataclass(frozen=True)
class Sources:
    """What rows were made of, and what came beside it; for methods that read more than rows.

    >>> Sources(texts=["a", "b"]).of_rows(slice(1, None)).texts
    ['b']
    """

    texts: Texts | None = None
    vectors: Vectors | None = None

    def of_rows(self, rows: slice) -> Sources:
        texts = None if self.texts is None else self.texts[rows]
        return Sources(texts, None if self.vectors is None else self.vectors[rows])


NO_SOURCES = Sources()


@dataclass(frozen=True)
class Points:
    """Feature rows with their labels: what a method learns from or is validated on.

    texts: the texts of the rows; None for ready-made features and for methods that read no texts.
    vectors: (n, dim) the user's embeddings of the documents, if there are any.
    """

    X: sp.csr_matrix
    Y: sp.csr_matrix
    texts: Texts | None = None
    vectors: Vectors | None = None

    @property
    def sources(self) -> Sources:
        return Sources(self.texts, self.vectors)

    @property
    def n_points(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    @property
    def n_labels(self) -> int:
        return int(self.Y.shape[1])

    def take(self, rows: npt.NDArray[np.intp]) -> Points:
        texts = None if self.texts is None else ChosenTexts(self.texts, rows)
        vectors = None if self.vectors is None else self.vectors[rows]
        return Points(self.X[rows], self.Y[rows], texts, vectors)

    def within(self, n_labels: int) -> Points:
        """Without the labels that only these rows have: a validation set may know labels that train does not."""
        return Points(self.X, self.Y[:, :n_labels], self.texts, self.vectors)

    def joined(self, others: Points) -> Points:
        """These rows and then the others'."""
        X, Y = (sp.vstack([mine, theirs], format="csr") for mine, theirs in ((self.X, others.X), (self.Y, others.Y)))
        vectors = None if self.vectors is None or others.vectors is None else np.vstack([self.vectors, others.vectors])
        return Points(X, Y, self._joined_texts(others), vectors)

    def _joined_texts(self, others: Points) -> Texts | None:
        if self.texts is None and others.texts is None:
            return None
        mine, theirs = (p.texts if p.texts is not None else [None] * p.n_points for p in (self, others))
        return [*mine, *theirs]

    def split(self, share: float, rng: np.random.Generator, at_most: int | None = None) -> tuple[Points, Points]:
        """(rest, held out): a random share of the rows, at most `at_most`, at least one of each where there are two."""
        held = max(1, min(round(self.n_points * share), at_most or self.n_points))
        order = rng.permutation(self.n_points)
        return self.take(np.sort(order[held:])), self.take(np.sort(order[:held]))


class ChosenTexts(Sequence[str | None]):
    """Some rows of a list of texts, which may be a file; the texts are not copied.

    >>> chosen = ChosenTexts(["a", "b", "c"], np.array([2, 0]))
    >>> list(chosen), chosen[1:][0]
    (['c', 'a'], 'a')
    """

    def __init__(self, texts: Texts, rows: npt.NDArray[np.intp]) -> None:
        self._texts, self._rows = texts, np.arange(len(texts))[rows]

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, place: int) -> str | None: ...

    @overload
    def __getitem__(self, place: slice) -> ChosenTexts: ...

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return ChosenTexts(self._texts, self._rows[place])
        return self._texts[int(self._rows[place])]
