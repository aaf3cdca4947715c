"""Why a label has its score: every word, training point and kind of evidence with what it added.

    words      a x_j w_lj, a the weight of the column that the words' sum falls into
    neighbours a_s v_s(l) + a'_s log(1 + v_s(l) / faint): 0 without votes; each voter has the share of it
               that its vote is of v_s(l)
    start      the score without any word or vote
    bonus      t log(1/p_l), for rare labels

and what else the judge joins, under its own name. Their sum is the score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from zipfel.evidence.contributions import by_frequency, shared_parts, strongest_voters
from zipfel.evidence.ensemble import Ensemble
from zipfel.evidence.part import Array, Asked, ByFeature, Voters
from zipfel.explanation import Explanation, Voter
from zipfel.linear.blend import Blend
from zipfel.neighbors.votes import FAINT


@dataclass(frozen=True)
class Scored:
    """One document and all that its labels' scores are made of.

    labels: (c,) candidates, -1 pads; evidence: (c, f) what the blend joins; by_products: (c,) what products add; bonus:
    (n_labels,) for rare labels; voters: who voted, in the kinds of votes `kinds`.
    """

    asked: Asked
    ensemble: Ensemble
    labels: Array
    evidence: Array
    blend: Blend
    by_products: Array
    bonus: Array
    voters: Voters
    kinds: Sequence[str]

    def explanation(self, asked: Sequence[int], priors: Array) -> Explanation:
        """Of the labels that are asked for. A label that is no candidate has words only."""
        features = self.asked.X.indices.tolist()
        if self.asked.is_blank.all() or (self.labels < 0).all():
            return Explanation(features, [], *by_frequency(priors, asked, len(features)))
        words = {label: self._words(label) for label in asked}
        place = {int(label): i for i, label in enumerate(self.labels) if label >= 0}
        known = [label for label in asked if label in place]
        return Explanation(
            features,
            [],
            {
                label: sum((own.added for own in parts), np.zeros(len(features))).tolist()
                for label, parts in words.items()
            },
            {label: self._kinds(label, place[label], words[label]) for label in known},
            {label: self._voters_of(label, self._columns(place[label])) for label in known},
        )

    def _words(self, label: int) -> list[ByFeature]:
        """What the document's features added to the label's score, by part, if the part can explain it."""
        found = [part.explain(self.asked, label) for part in self.ensemble.parts]
        return [
            ByFeature(own.column, own.added * self._weight(own.column), own.start * self._weight(own.column))
            for own in found
            if own is not None
        ]

    def _weight(self, column: str) -> float:
        return self.blend.weights[self.blend.names.index(column)]

    def _columns(self, place: int) -> dict[str, float]:
        """What each column of the candidate's evidence added; the log of a vote counts from `FAINT` on."""
        found = {}
        for name, weight, value in zip(self.blend.names, self.blend.weights, self.evidence[place], strict=True):
            nothing = np.log(np.float32(FAINT)) if name.startswith("log ") else 0.0
            found[name] = weight * float(value - nothing)
        return found

    def _kinds(self, label: int, place: int, words: Sequence[ByFeature]) -> dict[str, float]:
        """What each kind of evidence added, for readers."""
        by_words = {own.column for own in words}
        explained = (part for part in self.ensemble.parts if by_words & set(part.columns))
        in_words = {name for part in explained for name in part.columns}
        logs = sum(
            weight for name, weight in zip(self.blend.names, self.blend.weights, strict=True) if name[:4] == "log "
        )
        start = sum(own.start for own in words)
        found = {"start": self.blend.bias + start + float(np.log(FAINT)) * logs}
        if words:
            found["words"] = float(sum(own.added.sum() for own in words))
        for name, added in self._columns(place).items():
            if name not in in_words:
                plain = name.removeprefix("log ")
                kind = ("neighbours by " if plain in self.kinds else "") + plain.partition(":")[0]
                found[kind] = found.get(kind, 0.0) + added
        return {**found, "evidence together": float(self.by_products[place]), "bonus": float(self.bonus[label])}

    def _voters_of(self, label: int, columns: dict[str, float]) -> list[Voter[int]]:
        """The training points that have the label, each with its share of what its kind of votes added."""
        rows, weights, shared = self._near
        votes = weights * self.asked.training.Y[rows][:, [label]].toarray()  # (m, s)
        worth = np.array([columns.get(kind, 0.0) + columns.get(f"log {kind}", 0.0) for kind in self.kinds])
        total = votes.sum(axis=0)
        return strongest_voters(rows, votes @ (worth / np.where(total > 0, total, 1)), shared, self.asked.X.indices)

    @cached_property
    def _near(self) -> tuple[Array, Array, Array]:
        """(m,) distinct rows of train that vote, (m, s) their weights, and (m, t) what each word makes them alike."""
        known = self.voters.ids >= 0
        rows, place = np.unique(self.voters.ids[known], return_inverse=True)
        weights = np.zeros((len(rows), self.voters.weights.shape[2]))
        np.add.at(weights, place, self.voters.weights[known])  # one that is near by words and by codes votes twice
        return rows, weights, shared_parts(self.asked.X, self.asked.training.words.rows, rows)
