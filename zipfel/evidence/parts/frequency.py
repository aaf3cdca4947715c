"""How frequent a label is: log(1 + N_l). It may count against a label, unlike most evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from zipfel.evidence.part import Array, Asked, Codes, Fold, More, Part
from zipfel.evidence.training_set import TrainingSet
from zipfel.state import State


@dataclass(frozen=True)
class FrequencyPart(Part):
    """log_counts: (n_labels,)."""

    log_counts: Codes

    name = "frequency"
    title = "the label's frequency"
    can_oppose = ("frequency",)

    @property
    def columns(self) -> tuple[str, ...]:
        return ("frequency",)

    @classmethod
    def fit(cls, config: Any, fold: Fold, before: FrequencyPart | None) -> FrequencyPart:  # noqa: ARG003 - a count
        return cls(_logs(fold.seen_counts))

    def opinions(self, asked: Asked, labels: Array) -> list[Codes]:  # noqa: ARG002 - the same for all documents
        return [np.where(labels >= 0, self.log_counts[labels], np.float32(0))]

    def joined(self, more: More) -> FrequencyPart:
        return FrequencyPart(_logs(more.training.counts))

    def state(self) -> State:
        return State()

    @classmethod
    def restored(cls, config: Any, state: State, training: TrainingSet) -> FrequencyPart:  # noqa: ARG003 - a count
        return cls(_logs(training.counts))


def _logs(counts: Array) -> Codes:
    return np.log1p(counts).astype(np.float32)
