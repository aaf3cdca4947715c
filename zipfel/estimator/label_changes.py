"""Labels that were retired or merged after a model was fitted: what that does to its answers and to new documents.

The model itself stays as it is. A retired label is never predicted; a label that was merged into another counts as the
other. Only a new fit or an older copy of the model folder undoes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.data import label_matrix
from zipfel.errors import ModelFileError
from zipfel.ranking import PAD, Ranking


@dataclass(frozen=True)
class LabelChanges:
    """retired: labels that are not predicted any more. merged: label -> the label that it counts as."""

    retired: frozenset[int] = frozenset()
    merged: Mapping[int, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.retired or self.merged)

    def retire(self, labels: set[int]) -> LabelChanges:
        return LabelChanges(self.retired | labels, self.merged)

    def merge(self, into: Mapping[int, int]) -> LabelChanges:
        """Labels that count as one of `into`'s keys count as its value from now on, too."""
        known = {label: into.get(target, target) for label, target in self.merged.items()}
        return LabelChanges(self.retired, {**known, **into})

    def targets(self, n_labels: int) -> npt.NDArray[np.int64]:
        """(n_labels,) what each label counts as, `PAD` where it is retired."""
        found = np.arange(n_labels, dtype=np.int64)
        for label, target in self.merged.items():
            found[label] = target
        retired = np.zeros(n_labels, dtype=bool)
        retired[list(self.retired)] = True
        found[retired | retired[found]] = PAD
        return found

    def ranked(self, rank: Callable[[int], Ranking], k: int, n_labels: int) -> Ranking:
        """rank(k) with these changes; more labels are asked for until k are left, or there are no more."""
        asked = min(k, n_labels)
        if not self:
            return rank(asked)
        targets = self.targets(n_labels)
        while True:
            found = rank(asked)
            changed = _changed(found, targets, k)
            lacking = (changed.labels[:, -1:] == PAD) & (found.labels[:, -1:] != PAD)
            if asked >= n_labels or not lacking.any():
                return changed
            asked = min(2 * asked + len(self.retired) + len(self.merged), n_labels)

    def of_labels(self, Y: sp.csr_matrix) -> sp.csr_matrix:
        """Labels of documents with these changes; Y may have more columns than the model has labels."""
        if not self:
            return Y
        columns = self.targets(int(Y.shape[1]))[Y.indices]
        rows = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))
        return label_matrix(rows[columns != PAD], columns[columns != PAD], Y.shape)

    def facts(self) -> dict[str, Any]:
        """For config.json."""
        return {"retired": sorted(self.retired), "merged": sorted([*pair] for pair in self.merged.items())}

    @classmethod
    def from_facts(cls, facts: Any, n_labels: int) -> LabelChanges:
        """The counterpart of `facts`, checked; None is no change."""
        if facts is None:
            return cls()
        retired, merged = (facts.get("retired"), facts.get("merged")) if isinstance(facts, dict) else (None, None)
        sound = (
            isinstance(retired, list)
            and isinstance(merged, list)
            and all(isinstance(pair, list) and len(pair) == 2 and pair[0] != pair[1] for pair in merged)
            and all(type(i) is int and 0 <= i < n_labels for i in [*retired, *(i for pair in merged for i in pair)])
        )
        if not sound:
            raise ModelFileError("the model's label_changes are damaged: they must name labels of the model")
        assert isinstance(retired, list)
        assert isinstance(merged, list)
        return cls(frozenset(retired), dict(merged))


NO_CHANGES = LabelChanges()


def _changed(found: Ranking, targets: npt.NDArray[np.int64], k: int) -> Ranking:
    """The first k of each row after the changes. Of labels that count as one, the better place and score counts."""
    labels = np.where(found.labels == PAD, PAD, targets[found.labels])
    scores, width = found.scores.copy(), min(k, labels.shape[1])
    for row in np.flatnonzero((labels != found.labels).any(axis=1)):
        best: dict[int, float] = {}
        for label, score in zip(labels[row].tolist(), scores[row].tolist(), strict=True):
            if label != PAD:
                best[label] = max(best.get(label, score), score)
        labels[row], scores[row] = PAD, -np.inf
        labels[row, : len(best)], scores[row, : len(best)] = list(best), list(best.values())
    return Ranking(labels[:, :width], scores[:, :width], found.label_names)
