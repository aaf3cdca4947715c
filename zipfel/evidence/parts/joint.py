"""A regression on the neighbours by words: near-duplicates count as one vote.

The equations are in `neighbors/joint.py`. There is nothing to train.
"""

from __future__ import annotations

from dataclasses import dataclass

from zipfel.evidence.part import Array, Asked, Codes, Fold, Part
from zipfel.evidence.training_set import TrainingSet
from zipfel.neighbors.joint import JointConfig, JointNeighbors
from zipfel.state import State


@dataclass(frozen=True)
class JointPart(Part):
    model: JointNeighbors

    name = "joint"
    title = "neighbours by words together: near-duplicates count as one vote"
    Config = JointConfig

    @property
    def columns(self) -> tuple[str, ...]:
        return JointNeighbors.OPINIONS

    @classmethod
    def fit(cls, config: JointConfig, fold: Fold, before: JointPart | None) -> JointPart:  # noqa: ARG003
        return cls(JointNeighbors.of(config))

    def opinions(self, asked: Asked, labels: Array) -> list[Codes]:
        return self.model.opinions(asked.near, labels, asked.training.words, asked.training.Y)

    def state(self) -> State:
        return State()

    @classmethod
    def restored(cls, config: JointConfig, state: State, training: TrainingSet) -> JointPart:  # noqa: ARG003
        return cls(JointNeighbors.of(config))
