"""Embeddings that the user gives: documents nearby vote, and cosines with label names and with labels' documents count.

    code(x)    the user's embedding of a document, of unit length
    name(l)    the user's embedding of a label's name, if there is one
    centre(l)  the mean of the codes of a label's documents, of unit length

The labels whose names are nearest become candidates, among them labels without a training document. Their odds are
learnt from labels that have one document, which does not count itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from zipfel.evidence.part import Array, Asked, Codes, Fold, More, Proposals, Voters
from zipfel.evidence.parts.space import SpacePart
from zipfel.evidence.training_set import TrainingSet, label_counts
from zipfel.index.base import unit_rows
from zipfel.index.bytes import ByteIndex
from zipfel.linear.blend import Blend, is_true
from zipfel.neighbors.given import GivenEncoder, cosines, unit_vectors
from zipfel.neighbors.space import Space
from zipfel.points import Vectors
from zipfel.quantize import rounded
from zipfel.state import State

_PROPOSED, _LEARNT_FROM = 20, 3000
"""Labels of a document that become candidates by their names; documents, at most, that odds are learnt from."""
_ODDS = ("cosine", "behind the best", "log rank", "unseen", "log frequency")


@dataclass(frozen=True)
class EmbeddingsPart(SpacePart):
    """centres: (n_labels, dim), a row of zeros for a label without documents; odds: of labels by their names; None
    without embeddings of names."""

    centres: Codes = field(repr=False, kw_only=True)
    odds: Blend | None = field(kw_only=True)

    name = "embeddings"
    title = "the user's embeddings of documents and label names"
    Encoder = GivenEncoder
    votes = GivenEncoder.VOTES
    space: Space

    @property
    def columns(self) -> tuple[str, ...]:
        by_name = GivenEncoder.OPINIONS if len(self._names) else ()
        return (*by_name, "embedding: documents")

    @property
    def dim(self) -> int:
        """Numbers of an embedding."""
        return int(self.space.points.codes.shape[1])

    @property
    def _names(self) -> Codes:
        encoder = self.space.encoder
        assert isinstance(encoder, GivenEncoder)
        return encoder.names

    @classmethod
    def fit(cls, config: Any, fold: Fold, before: EmbeddingsPart | None) -> EmbeddingsPart | None:  # noqa: ARG003
        vectors = fold.points.vectors
        if vectors is None:
            return None
        if before is None:
            given = fold.run.label_vectors
            names = np.zeros((0, vectors.shape[1])) if given is None else given
            encoder = GivenEncoder(rounded(unit_vectors(names), "int8"))
        else:
            encoder = before.space.encoder  # type: ignore[assignment]
        codes = encoder.encode(vectors) if before is None else before.space.points.codes
        voters = fold.seen & (np.diff(fold.points.Y.indptr) > 0)
        space = Space.build(encoder, codes, fold.points.Y, voters, exact=not fold.is_final)
        part = cls(space, centres=_centres(space, fold.points.Y), odds=before.odds if before else None)
        return part if before else replace(part, odds=part._learnt_odds(fold))

    def _encoded(self, X: sp.csr_matrix, vectors: Vectors | None) -> Codes:
        return self.space.encoder.encode(np.zeros((X.shape[0], self.dim)) if vectors is None else vectors)

    def neighbours(self, asked: Asked) -> Voters:
        ids, weights = self.space.search(self.codes_of(asked), asked.n_neighbors)
        unknown = ~self.codes_of(asked).any(axis=1)
        if unknown.any():
            ids[unknown], weights[unknown] = -1, 0
        return Voters(ids, weights)

    def proposals(self, asked: Asked) -> Proposals | None:
        return Proposals(self._nearest_names(asked)[0]) if len(self._names) else None

    def opinions(self, asked: Asked, labels: Array) -> list[Codes]:
        by_documents = cosines(self.codes_of(asked), self.centres, self._has_centre, labels)
        return [*super().opinions(asked, labels), by_documents]

    @cached_property
    def _has_centre(self) -> Array:
        return np.asarray(self.centres.any(axis=1))

    def unseen_odds(self, asked: Asked, labels: Array) -> Codes | None:
        counts = asked.training.counts
        unseen = (labels >= 0) & (counts[labels] == 0)
        if self.odds is None or not unseen.any():
            return None
        ids, near = self._nearest_names(asked)
        odds = self.odds(_odds_columns(near, counts[ids]))
        is_same = (labels[:, :, None] == ids[:, None, :]) & unseen[:, :, None]
        found = np.where(is_same, odds[:, None, :], -np.inf).max(axis=2, initial=-np.inf)
        return np.where(is_same.any(axis=2), found, np.nan).astype(np.float32)

    def joined(self, more: More) -> EmbeddingsPart:
        joined = super().joined(more)
        return replace(joined, centres=_centres(joined.space, more.training.Y))

    # -- label names

    @cached_property
    def _by_name(self) -> ByteIndex:
        named = np.flatnonzero(self._names.any(axis=1))
        return ByteIndex(self._names[named], named)

    def _nearest_names(self, asked: Asked) -> tuple[Array, Codes]:
        """(n, p) labels, -1 pads, and the cosines of their names, -1 there."""

        def search() -> tuple[Array, Codes]:
            codes = self.codes_of(asked)
            ids, near = self._by_name.search(codes, _PROPOSED)
            known = np.isfinite(near) & np.asarray(codes.any(axis=1))[:, None]
            return np.where(known, ids, -1), np.where(known, near, np.float32(-1))

        return asked.once("nearest names", search)

    def _learnt_odds(self, fold: Fold) -> Blend | None:
        """Learns from a sample of the documents. A document is left out of its own labels' counts."""
        if not len(self._names):
            return None
        rows = fold.rows[:: -(-len(fold.rows) // _LEARNT_FROM)]
        points, counts = fold.points.take(rows), label_counts(fold.learnt_from.Y)
        ids, near = self._nearest_names(Asked(points.X, fold.training, 1, sources=points.sources))
        hits, known = is_true(ids, points.Y), ids >= 0
        return Blend.fit(_ODDS, _odds_columns(near, counts[ids] - hits)[known], hits[known])

    # -- state

    def state(self) -> State:
        return State(self.space.state(), {"odds": None if self.odds is None else self.odds.facts()})

    @classmethod
    def restored(cls, config: Any, state: State, training: TrainingSet) -> EmbeddingsPart:  # noqa: ARG003 - has none
        space = Space.restored(cls.Encoder, state.arrays, training.Y, training.n_fitted_features)
        odds = state.facts.get("odds")
        blend = None if odds is None else Blend.from_facts(dict(odds), _ODDS)
        return cls(space, centres=_centres(space, training.Y), odds=blend)


def _centres(space: Space, Y: sp.csr_matrix) -> Codes:
    """(n_labels, dim) means of the codes of each label's points that vote, of unit length."""
    voters = space.points.voters
    return unit_rows(np.asarray(Y[voters].T @ space.points.codes[voters], dtype=np.float32))


def _odds_columns(near: Codes, counts: Array) -> Codes:
    """(n, p, 5) in the order of `_ODDS`, for the cosines (n, p) of a row's nearest names and the labels' documents."""
    ranks = np.broadcast_to(np.log1p(np.arange(near.shape[1])) / math.log(2), near.shape)
    best = near.max(axis=1, keepdims=True, initial=-1)
    return np.stack([near, best - near, ranks, counts <= 0, np.log1p(np.maximum(counts, 0))], axis=2).astype(np.float32)
