"""The few numbers of a data set that a rule may read."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import scipy.sparse as sp

from zipfel.errors import ModelFileError
from zipfel.index.dense import is_dense
from zipfel.points import Points


@dataclass(frozen=True)
class Shape:
    """n_features, n_labels: that occur; declared: features and labels that the file declares, for which tables have
    rows; words, labels: of a point, on average; dense: the features are numbers that most points have; n_held_out:
    points that the judge learns from; names: of labels that may stand in texts, 0 where rows have no texts; unseen:
    labels that no point has; embedded: numbers of the user's embedding of a point, 0 without embeddings."""

    n_points: int
    n_features: int
    n_labels: int
    declared: int
    words: float
    labels: float
    dense: bool
    n_held_out: int
    names: int = 0
    unseen: int = 0
    embedded: int = 0

    @classmethod
    def of(cls, points: Points, n_held_out: int, n_names: int = 0) -> Shape:
        n = max(1, points.n_points)
        return cls(
            points.n_points,
            n_occurring(points.X),
            n_occurring(points.Y),
            points.n_features + points.n_labels,
            points.X.nnz / n,
            points.Y.nnz / n,
            is_dense(points.X),
            n_held_out,
            0 if points.texts is None else n_names,
            points.n_labels - n_occurring(points.Y),
            0 if points.vectors is None else int(points.vectors.shape[1]),
        )

    @classmethod
    def from_facts(cls, facts: Any) -> Shape:
        """The counterpart of `dataclasses.asdict`; a model file may come from anywhere."""
        try:
            known = {"embedded": 0, **facts}  # models that are older than embeddings
            found = {field.name: _number(known[field.name], field.type) for field in fields(cls)}
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(f"the shape of the data in the model is damaged: {error!r:.80}") from None
        return cls(**found)


def _number(value: Any, kind: Any) -> Any:
    """A finite number from 0 on, of the type that the field declares."""
    if isinstance(value, bool) != (kind == "bool") or not 0 <= value < 2**53:
        raise ValueError(f"{value!r:.40} is no {kind}")
    return {"bool": bool, "int": int, "float": float}[kind](value)


def n_occurring(matrix: sp.csr_matrix) -> int:
    """Columns that have an entry."""
    return int(np.count_nonzero(np.bincount(matrix.indices, minlength=1)))
