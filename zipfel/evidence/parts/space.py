"""The base of parts with codes: the training points with the nearest codes vote, and the encoder scores labels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from zipfel.evidence.part import Array, Asked, Codes, More, Part, Voters
from zipfel.evidence.training_set import TrainingSet
from zipfel.neighbors.space import AnyEncoder, Space
from zipfel.state import State

Self = TypeVar("Self", bound="SpacePart")


@dataclass(frozen=True)
class SpacePart(Part):
    """learnt: what a later fit continues from."""

    space: Space
    learnt: Any = field(default=None, repr=False)

    Encoder: ClassVar[type[AnyEncoder]]

    @property
    def columns(self) -> tuple[str, ...]:
        return self.Encoder.OPINIONS

    def codes_of(self, asked: Asked) -> Codes:
        """(n, dim) of documents."""
        return asked.once(self.name, lambda: self.space.encoder.encode(asked.X))

    @property
    def point_codes(self) -> Codes:
        """(n, dim) of the training points, as they are searched."""
        return self.space.points.codes

    def neighbours(self, asked: Asked) -> Voters:
        return Voters(*self.space.search(self.codes_of(asked), asked.n_neighbors))

    def opinions(self, asked: Asked, labels: Array) -> list[Codes]:
        return self.space.encoder.opinions(self.codes_of(asked), labels)

    def joined(self: Self, more: More) -> Self:
        return type(self)(self.space.joined(more.X, more.training.Y, more.new_labels))

    def state(self) -> State:
        return State(self.space.state())

    @classmethod
    def restored(cls: type[Self], config: Any, state: State, training: TrainingSet) -> Self:  # noqa: ARG003
        return cls(Space.restored(cls.Encoder, state.arrays, training.Y, training.n_features))
