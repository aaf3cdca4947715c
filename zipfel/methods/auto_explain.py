"""Why auto gave a label its score: every word, training point and kind of evidence with what it added.

    score(l) = a . e(l) + b + t log(1/p_l)                     `auto`
    words      a x_j w_lj, a the slope of m(l)'s side of zero; with drift, the word's weights at its knots, too
    neighbours a_s v_s(l) + a'_s log(1 + v_s(l) / faint): nothing where nobody votes; each voter has the share of it
               that its vote is of v_s(l)
    start      b, a b_l and a'_s log faint: what the label has before the document says anything
    tail       t log(1/p_l)

and what else the blend joins, under its own name. Their sum is the score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.evidence.blend import Blend
from zipfel.explanation import Explanation, Voter
from zipfel.linear import LinearClassifiers
from zipfel.methods.evidence import by_frequency, shared_parts, voters, word_parts

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Scored:
    """One document and all that its labels' scores are made of.

    x: (1, n_features), canonical and damped; row: as the classifiers see it, with the same features once more or
    several times behind them where there is drift. labels: (c,) candidates, -1 pads; evidence: (c, f) what the blend
    joins; together: (c,) what products of it add. bonus: (n_labels,) the tail's. ranker: None where there are no
    classifiers. kinds: names of the s kinds of votes; ids: (m,) rows of train that vote, -1 pads; weights: (m, s).
    memory: (n, n_features) the rows of train by words; Y: (n, n_labels). faint: votes below this count as none.
    """

    x: sp.csr_matrix
    row: sp.csr_matrix
    labels: Array
    evidence: Array
    blend: Blend
    together: Array
    bonus: Array
    ranker: LinearClassifiers | None
    kinds: Sequence[str]
    ids: Array
    weights: Array
    memory: sp.csr_matrix
    Y: sp.csr_matrix
    faint: float

    def explanation(self, asked: Sequence[int], priors: Array) -> Explanation:
        """Of the labels that are asked for. One that is no candidate has words only: no neighbour brought it up."""
        features = self.x.indices.tolist()
        if len(features) == 0 or (self.labels < 0).all():
            return Explanation(features, [], *by_frequency(priors, asked, len(features)))
        words = {label: self._words(label) for label in asked}
        place = {int(label): i for i, label in enumerate(self.labels) if label >= 0}
        known = [label for label in asked if label in place]
        return Explanation(
            features,
            [],
            {label: parts.tolist() for label, (parts, _) in words.items()},
            {label: self._kinds(label, place[label], *words[label]) for label in known},
            {label: self._voters(label, self._columns(place[label])) for label in known},
        )

    def _words(self, label: int) -> tuple[Array, float]:
        """(t,) what each word added through the classifier, and what the classifier starts with."""
        if self.ranker is None:
            return np.zeros(self.x.nnz), 0.0
        parts, bias = word_parts(self.row, self.ranker.weights_, label), float(self.ranker.bias_[label])
        word_of = np.searchsorted(self.x.indices, self.row.indices % self.x.shape[1])
        parts = np.bincount(word_of, parts, minlength=self.x.nnz)
        side = self.blend.names.index("doubt" if parts.sum() + bias < 0 else "trust")
        return parts * self.blend.weights[side], bias * self.blend.weights[side]

    def _columns(self, place: int) -> dict[str, float]:
        """What each column of the candidate's evidence added; the log of a vote counts from `faint` on."""
        found = {}
        for name, weight, value in zip(self.blend.names, self.blend.weights, self.evidence[place], strict=True):
            nothing = np.log(np.float32(self.faint)) if name.startswith("log ") else 0.0
            found[name] = weight * float(value - nothing)
        return found

    def _kinds(self, label: int, place: int, words: Array, start: float) -> dict[str, float]:
        """What each kind of evidence added, for readers."""
        logs = sum(
            weight for name, weight in zip(self.blend.names, self.blend.weights, strict=True) if name[:4] == "log "
        )
        found = {"start": self.blend.bias + start + float(np.log(self.faint)) * logs}
        if self.ranker is not None:
            found["words"] = float(words.sum())
        for name, added in self._columns(place).items():
            if name not in ("doubt", "trust"):
                plain = name.removeprefix("log ")
                kind = ("neighbours by " if plain in self.kinds else "") + plain.partition(":")[0]
                found[kind] = found.get(kind, 0.0) + added
        return {**found, "evidence together": float(self.together[place]), "tail": float(self.bonus[label])}

    def _voters(self, label: int, columns: dict[str, float]) -> list[Voter[int]]:
        """The training points that have the label, each with its share of what its kind of votes added."""
        rows, weights, shared = self._near
        votes = weights * self.Y[rows][:, [label]].toarray()  # (m, s)
        worth = np.array([columns.get(kind, 0.0) + columns.get(f"log {kind}", 0.0) for kind in self.kinds])
        total = votes.sum(axis=0)
        return voters(rows, votes @ (worth / np.where(total > 0, total, 1)), shared, self.x.indices)

    @cached_property
    def _near(self) -> tuple[Array, Array, Array]:
        """(m,) distinct rows of train that vote, (m, s) their weights, and (m, t) what each word makes them alike."""
        known = self.ids >= 0
        rows, place = np.unique(self.ids[known], return_inverse=True)
        weights = np.zeros((len(rows), self.weights.shape[1]))
        np.add.at(weights, place, self.weights[known])  # one that is near by words and by codes votes twice
        return rows, weights, shared_parts(self.x, self.memory, rows)
