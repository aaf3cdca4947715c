"""What a model has learnt since it was fitted, and whether that asks for fitting it again.

Each update first ranks its documents with the model as it was. Their labels show how often the best label was right;
the model's probabilities say how often it should have been. If the first is clearly lower, the documents have drifted
away from the training set.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import scipy.sparse as sp

from zipfel.errors import ModelFileError
from zipfel.ranking import PAD, Ranking

MOST_JUDGED = 200
"""Documents of an update that are ranked before they are learnt."""
_LESS, _SURE = 0.02, 2.0
"""The best label is right so much more seldom than it should be, and by so many standard errors."""
_MANY, _NEW_LABELS, _NEW_WORDS = 0.5, 0.1, 1.0
"""Shares from which on a model should be fitted again: added documents in relation to fitted ones, labels of new
documents that were unknown, and new words in relation to known ones."""


@dataclass(frozen=True)
class Growth:
    """Sums over the updates since the model was fitted.

    judged: documents that were ranked before they were learnt; right: those whose best label was true; expected: the
    sum of the probabilities of their best labels; variance: of how many are right, by those probabilities.
    labels: labels of documents; new_labels: those that were not known when their update began.
    fitted, fitted_words: documents and words that the model was fitted on.
    """

    fitted: int
    fitted_words: int
    updates: int = 0
    documents: int = 0
    judged: int = 0
    right: int = 0
    expected: float = 0.0
    variance: float = 0.0
    labels: int = 0
    new_labels: int = 0
    new_words: int = 0

    def joined(self, ranking: Ranking, asked: sp.csr_matrix, Y: sp.csr_matrix, n_known: int, new_words: int) -> Growth:
        """With one more update. ranking, asked: the best label of some of its documents, and their true ones; Y: the
        labels of all; n_known: labels that were known before."""
        best, odds = ranking.labels[:, 0], np.clip(ranking.scores[:, 0].astype(np.float64), 0, 1)
        known = best != PAD
        chosen = sp.csr_matrix((known[known], (np.flatnonzero(known), best[known])), shape=asked.shape)
        return Growth(
            self.fitted,
            self.fitted_words,
            self.updates + 1,
            self.documents + int(Y.shape[0]),
            self.judged + len(best),
            self.right + int((asked.multiply(chosen) > 0).nnz),
            self.expected + float(odds[known].sum()),
            self.variance + float((odds * (1 - odds))[known].sum()),
            self.labels + int(Y.nnz),
            self.new_labels + int((Y.indices >= n_known).sum()),
            self.new_words + new_words,
        )

    def reasons(self) -> list[str]:
        """The reasons to fit the model again, one sentence each; empty if there is none."""
        found = []
        if self.judged and self.expected - self.right > max(_LESS * self.judged, _SURE * math.sqrt(self.variance)):
            found.append(
                f"the best label was right for {self.right / self.judged:.1%} of the new documents, and for "
                f"{self.expected / self.judged:.1%} it should have been"
            )
        if self.documents > _MANY * self.fitted:
            found.append(f"{self.documents:,} documents came to the {self.fitted:,} that the model was fitted on")
        if self.new_labels > _NEW_LABELS * max(1, self.labels):
            found.append(f"{self.new_labels / self.labels:.1%} of the new documents' labels were not known before")
        if self.new_words > _NEW_WORDS * max(1, self.fitted_words):
            found.append(f"{self.new_words:,} words came to the {self.fitted_words:,} that the model was fitted on")
        return found

    def advice(self) -> str:
        """One sentence for the user."""
        reasons = self.reasons()
        return "fit again: " + "; ".join(reasons) if reasons else "no new fit is needed yet"

    def facts(self) -> dict[str, Any]:
        """For config.json, with what `zipfel info` shows."""
        rounded = {name: round(value, 3) if isinstance(value, float) else value for name, value in asdict(self).items()}
        return {**rounded, "advice": self.advice()}

    @classmethod
    def from_facts(cls, facts: Any) -> Growth:
        """The counterpart of `facts`; a model file may come from anywhere."""
        names = [field.name for field in fields(cls)]
        found: dict[str, Any] = {name: facts.get(name) for name in names} if isinstance(facts, Mapping) else {}
        if not found or not all(type(v) in (int, float) and math.isfinite(v) and v >= 0 for v in found.values()):
            raise ModelFileError("the model's record of its updates is damaged: its numbers are out of range")
        return cls(**found)


def some_rows(n: int) -> slice:
    """Evenly spread rows of an update that are ranked before they are learnt."""
    return slice(None, None, max(1, math.ceil(n / MOST_JUDGED)))
