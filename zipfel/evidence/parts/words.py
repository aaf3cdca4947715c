"""Neighbours by words: the training points with the largest cosine to the document vote for their labels.

    v_s(l) = sum_i w_si y_il,  w_si = cos(x, x_i)^s / sum_j cos(x, x_j)^s,  s = 1, 3, 8

Nothing is trained: the index is in the training set.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from zipfel.evidence.part import Array, Asked, Codes, Fold, Part, Voters
from zipfel.evidence.training_set import TrainingSet
from zipfel.neighbors.words import VOTES, weights_by_cosine
from zipfel.state import State


@dataclass(frozen=True)
class WordsPart(Part):
    name = "words"
    title = "neighbours by words"
    votes = VOTES

    @property
    def columns(self) -> tuple[str, ...]:
        return ()

    @classmethod
    def fit(cls, config: Any, fold: Fold, before: WordsPart | None) -> WordsPart:  # noqa: ARG003 - nothing to learn
        return cls()

    def neighbours(self, asked: Asked) -> Voters:
        return Voters(asked.near.ids, weights_by_cosine(asked.near.cosines))

    def opinions(self, asked: Asked, labels: Array) -> list[Codes]:  # noqa: ARG002 - it has votes only
        return []

    def state(self) -> State:
        return State()

    @classmethod
    def restored(cls, config: Any, state: State, training: TrainingSet) -> WordsPart:  # noqa: ARG003 - see `state`
        return cls()
