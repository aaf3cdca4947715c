"""The base of parts with codes: the training points with the nearest codes vote, and the encoder scores labels."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeVar

import scipy.sparse as sp

from zipfel.evidence.part import Array, Asked, Codes, More, Part, Voters
from zipfel.evidence.training_set import TrainingSet
from zipfel.neighbors.space import AnyEncoder, Space
from zipfel.points import Vectors
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
        return asked.once(self.name, lambda: self._encoded(asked.fitted_rows, asked.vectors))

    @property
    def point_codes(self) -> Codes:
        """(n, dim) of the training points, as they are searched."""
        return self.space.points.codes

    def neighbours(self, asked: Asked) -> Voters:
        return Voters(*self.space.search(self.codes_of(asked), asked.n_neighbors))

    def opinions(self, asked: Asked, labels: Array) -> list[Codes]:
        return self.space.encoder.opinions(self.codes_of(asked), labels)

    def joined(self: Self, more: More) -> Self:
        codes = self._encoded(more.fitted_rows, more.vectors)
        return replace(self, space=self.space.joined(codes, more.training.Y, more.new_labels), learnt=None)

    def _encoded(self, X: sp.csr_matrix, vectors: Vectors | None) -> Codes:  # noqa: ARG002 - most read features
        """(n, dim) codes of documents, by their features (n, n_features) or the user's embeddings (n, dim)."""
        return self.space.encoder.encode(X)

    def state(self) -> State:
        return State(self.space.state())

    @classmethod
    def restored(cls: type[Self], config: Any, state: State, training: TrainingSet) -> Self:  # noqa: ARG003
        return cls(Space.restored(cls.Encoder, state.arrays, training.Y, training.n_fitted_features))
