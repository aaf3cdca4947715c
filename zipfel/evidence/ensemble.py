"""The parts of a model together: candidates of documents, and all evidence for each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from zipfel.evidence.candidates import Candidates, candidates_of
from zipfel.evidence.part import Array, Asked, Part
from zipfel.neighbors.votes import FAINT

_USUAL = 10
"""Candidates of a document whose mean opinion, of the best, replaces NaN."""


@dataclass(frozen=True)
class Ensemble:
    """width: labels of a document that are scored."""

    parts: tuple[Part, ...]
    width: int

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of the f columns of evidence."""
        return tuple(name for part in self.parts for name in columns_of(part))

    @cached_property
    def can_oppose(self) -> frozenset[str]:
        """Columns that may count against a label."""
        return frozenset(name for part in self.parts for name in part.can_oppose)

    def part(self, name: str) -> Part | None:
        return next((part for part in self.parts if part.name == name), None)

    def evidence(self, asked: Asked, k: int = 0) -> tuple[Candidates, npt.NDArray[np.float32]]:
        """`width` candidates of each document, or k if that is more, and (n, c, f) evidence for each of them. There are
        never more than labels: memory must not follow from a number in a model file."""
        width = min(max(self.width, k), asked.training.n_labels)
        found = candidates_of(asked, self.parts, width)
        out = np.empty((*found.labels.shape, len(self.names)), dtype=np.float32)
        at = cast = 0
        for part in self.parts:
            n = len(part.votes)
            votes = found.votes[:, :, cast : cast + n]
            out[:, :, at : at + n], out[:, :, at + n : at + 2 * n] = np.log(votes + np.float32(FAINT)), votes
            at, cast = at + 2 * n, cast + n
            for opinion in part.opinions(asked, found.labels):
                out[:, :, at] = or_usual(opinion, found.labels)
                at += 1
        return found, out

    def unseen_odds(self, asked: Asked, labels: Array) -> npt.NDArray[np.float32]:
        """(n, c) log-odds of labels without a training document, from the part that knows them; NaN for the others."""
        found = np.full(labels.shape, np.nan, dtype=np.float32)
        for part in self.parts:
            own = part.unseen_odds(asked, labels)
            found = found if own is None else np.where(np.isnan(own), found, own)
        return found


def columns_of(part: Part) -> tuple[str, ...]:
    """Names of a part's columns of evidence: its votes, their logs before, and its opinions."""
    return (*(f"log {kind}" for kind in part.votes), *part.votes, *part.columns)


def columns_by_part(parts: Sequence[Part]) -> dict[str, list[int]]:
    """Which columns of evidence each part has."""
    found: dict[str, list[int]] = {}
    at = 0
    for part in parts:
        n = len(columns_of(part))
        found[part.name] = list(range(at, at + n))
        at += n
    return found


def or_usual(opinion: npt.NDArray[np.float32], labels: Array) -> npt.NDArray[np.float32]:
    """A part's opinion of candidates (n, c), -1 pads, with the mean of the row's ten best instead of NaN."""
    missing = np.isnan(opinion)
    if not missing.any():
        return opinion
    judged = np.where((labels < 0) | missing, -np.inf, opinion)
    best = -np.partition(-judged, min(_USUAL, labels.shape[1]) - 1, axis=1)[:, :_USUAL]
    known = np.isfinite(best)
    usual = np.where(known, best, 0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    return np.where(missing, usual[:, None], opinion).astype(np.float32)
