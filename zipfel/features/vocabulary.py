"""The words and n-grams that became columns, with in how many documents each was."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfel.errors import DataError, ModelFileError
from zipfel.features.wordtable import WordTable

Array = npt.NDArray[Any]

_TERM = re.compile(r"\w\w+(?: \w\w+)*")


@dataclass(frozen=True)
class Vocabulary:
    """Column i is names[i]. Names that were learnt together are sorted; those of later texts stand behind them."""

    names: list[str]
    points: Array  # int64 (n_features,): documents with that word
    n_points: int  # all documents that were seen

    @cached_property
    def columns(self) -> dict[str, int]:
        return {name: column for column, name in enumerate(self.names)}

    @cached_property
    def idf(self) -> Array:
        """float64 (n_features,): ln((1 + n) / (1 + df)) + 1, as if one more document had every word."""
        return idf(self.points, self.n_points)

    def table(self, ngrams: int, lowercase: bool) -> tuple[WordTable, Array]:
        """A table to look words up in, and the column (or -1) of each of its ids.

        Some ids have no column: parts of an n-gram that are no features themselves, such as those too frequent.
        """
        letters = sum(map(len, self.names))
        table = WordTable(ngrams, lowercase, capacity=max(16, ngrams * len(self.names)), letters=letters)
        rows = table.count(self.names).rows
        columns = np.full(len(table), -1, dtype=np.int32)
        columns[rows.ids[rows.indptr[1:] - 1]] = np.arange(len(self.names), dtype=np.int32)  # the longest comes last
        return table, columns

    def with_more(self, other: Vocabulary) -> Vocabulary:
        """The vocabulary with new words of later texts at its end. Known words keep their columns and weights."""
        new = [i for i, name in enumerate(other.names) if name not in self.columns]
        names = [*self.names, *(other.names[i] for i in new)]
        return Vocabulary(names, np.append(self.points, np.minimum(other.points[new], self.n_points)), self.n_points)

    def to_json(self) -> dict[str, Any]:
        return {"n_points": self.n_points, "words": self.names, "df": self.points.tolist()}

    @classmethod
    def from_json(cls, state: Mapping[str, Any], ngrams: int, lowercase: bool) -> Vocabulary:
        """The counterpart of `to_json`; every value is checked, for a model file may come from anywhere."""
        names, points, n_points = state.get("words"), state.get("df"), state.get("n_points")
        if type(n_points) is not int or not 0 < n_points < 2**53:
            raise ModelFileError(f"the vectoriser's n_points must be a positive whole number, got {n_points!r:.60}")
        if not isinstance(names, list) or not isinstance(points, list) or not 0 < len(names) == len(points):
            raise ModelFileError("the vectoriser needs two lists of the same length, words and df")
        for name, df in zip(names, points, strict=True):
            if not isinstance(name, str) or not _is_term(name, ngrams, lowercase):
                raise ModelFileError(f"the vectoriser's word {name!r:.60} is not one that it could have learned")
            if type(df) is not int or not 0 < df <= n_points:
                raise ModelFileError(
                    f"the df of the vectoriser's word {name!r:.60} must be 1 to {n_points}, got {df!r:.60}"
                )
        if len(set(names)) < len(names):
            raise ModelFileError("the vectoriser's words must be distinct")
        return cls(names, np.array(points, dtype=np.int64), n_points)


def _is_term(name: str, ngrams: int, lowercase: bool) -> bool:
    """Whether a text could have given this word or n-gram."""
    return bool(_TERM.fullmatch(name)) and name.count(" ") < ngrams and not (lowercase and name != name.lower())


def idf(points: Array, n_points: int) -> Array:
    """float64: ln((1 + n) / (1 + df)) + 1."""
    return np.log((1 + n_points) / (1.0 + points)) + 1.0


def selected(
    table: WordTable, n_points: int, *, min_df: int, max_df: float, max_features: int | None
) -> tuple[Vocabulary, Array]:
    """The table's words within the limits, and the column of each id of the table, -1 where it was left out.

    Of the words that are equally frequent at the edge of max_features, those that sort first are kept.
    """
    ids = np.flatnonzero((table.points >= min_df) & (table.points <= max_df * n_points))
    if len(ids) == 0:
        limits = f"in at least {min_df} and in at most {max_df:.4g} of the {n_points} texts"
        raise DataError(f"no word is {limits}", remedy="give texts with words of two letters or more, or wider limits")
    ids = table.in_order(ids)
    if max_features is not None:
        frequent = np.argsort(-table.occurrences[ids], kind="stable")[:max_features]
        ids = ids[np.sort(frequent)]
    columns = np.full(len(table), -1, dtype=np.int32)
    columns[ids] = np.arange(len(ids), dtype=np.int32)
    return Vocabulary(table.names(ids), table.points[ids], n_points), columns
