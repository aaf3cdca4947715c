"""A forest: the training points in the same leaves as the document vote for their labels.

The equations are in `neighbors/forest.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from zipfel.evidence.part import Array, Asked, Codes, Fold, More, Part
from zipfel.evidence.training_set import TrainingSet
from zipfel.neighbors.forest import Forest, ForestConfig
from zipfel.state import State


@dataclass(frozen=True)
class ForestPart(Part):
    model: Forest

    name = "forest"
    title = "training points in the same leaves of a forest"
    Config = ForestConfig

    @property
    def columns(self) -> tuple[str, ...]:
        return Forest.OPINIONS

    @classmethod
    def fit(cls, config: ForestConfig, fold: Fold, before: ForestPart | None) -> ForestPart:
        """The final fit keeps the trees. The points that were held out become voters in their leaves."""
        if before is not None:
            return cls(before.model.with_voters(fold.voters))
        seed = int(fold.run.rng(28).integers(2**31))
        return cls(Forest.fit(config, fold.training.words, fold.points.Y, fold.seen, seed))

    def opinions(self, asked: Asked, labels: Array) -> list[Codes]:
        return self.model.opinions(self._leaves(asked), labels, asked.training.Y)

    def _leaves(self, asked: Asked) -> Array:
        """(n, trees). Training points with labels have known leaves; the index keeps no words of the others."""
        words = asked.training.words
        if asked.rows is None:
            return self.model.find(words, asked.X)
        leaves, unknown = self.model.leaves[asked.rows], np.flatnonzero(~asked.training.can_vote[asked.rows])
        if len(unknown):
            leaves[unknown] = self.model.find(words, asked.X[unknown])
        return leaves

    def joined(self, more: More) -> ForestPart:
        return ForestPart(self.model.joined(more.training.words, more.X))

    def state(self) -> State:
        return State(self.model.state())

    @classmethod
    def restored(cls, config: Any, state: State, training: TrainingSet) -> ForestPart:  # noqa: ARG003 - in the state
        return cls(Forest.restored(state.arrays, training.can_vote))
