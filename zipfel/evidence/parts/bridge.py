"""Words of documents that predict words of label names. Labels with a word in common learn from each other's documents.

The equations are in `labeltext/dictionary.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from zipfel.evidence.part import Array, Asked, Codes, Fold, Part
from zipfel.evidence.parts.names import NamesPart
from zipfel.evidence.training_set import TrainingSet
from zipfel.labeltext.dictionary import Dictionary
from zipfel.state import State

_FAINT = 0.01
"""P(g | w) counts as none below this: log(1 + p / 0.01)."""


@dataclass(frozen=True)
class BridgePart(Part):
    dictionary: Dictionary

    name = "bridge"
    title = "words that predict words of label names"

    @property
    def columns(self) -> tuple[str, ...]:
        return ("bridge: strongest", "bridge: together")

    @classmethod
    def fit(cls, config: Any, fold: Fold, before: BridgePart | None) -> BridgePart | None:  # noqa: ARG003 - learnt anew
        names = fold.made.get("names")
        if not isinstance(names, NamesPart):
            return None
        points = fold.learnt_from
        return cls(Dictionary.learn(points.X, points.Y, names.matcher.names))

    def opinions(self, asked: Asked, labels: Array) -> list[Codes]:
        strongest, together = np.moveaxis(self.dictionary.scores(asked.fitted_rows, labels), 2, 0)
        return [np.log1p(strongest / np.float32(_FAINT)), np.ascontiguousarray(together)]

    def state(self) -> State:
        return self.dictionary.state()

    @classmethod
    def restored(cls, config: Any, state: State, training: TrainingSet) -> BridgePart:  # noqa: ARG003 - has none
        return cls(Dictionary.restored(state, training.n_fitted_features, training.n_labels))
