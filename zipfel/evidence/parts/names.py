"""Names of labels that occur in the text. They add candidates, among them labels without a training document.

`labeltext/matches.py` defines a match; `labeltext/trust.py` has the odds that its label is right.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from zipfel.config import Config, param
from zipfel.errors import ModelFileError
from zipfel.evidence.part import Array, Asked, Codes, Fold, Part, Proposals
from zipfel.evidence.training_set import TrainingSet
from zipfel.labeltext import Matches, Name, NameMatcher
from zipfel.labeltext.trust import COUNTED, LEARNT, POINTS, Found, columns_of, learn_odds
from zipfel.linear.blend import Blend
from zipfel.points import Texts
from zipfel.state import State

_RARITY_FROM, _LEARNT_FROM = 20_000, 3000
"""Documents, at most, that the rarity of words is counted in, and that the weights of matches are learnt from."""
_NOTHING = 12.0
"""Log-odds below minus this count as minus this. In the evidence they are 0, as if no name was found."""


@dataclass(frozen=True)
class NamesConfig(Config):
    stemmer: str = param("light", "stems of words: light, or snowball:LANGUAGE with zipfel[text]")
    proposed: int = param(20, "labels of a document that become candidates because of their names", low=0)


@dataclass(frozen=True)
class NamesPart(Part):
    """counts: (n_labels, 5), see `Found.counts`; learnt: for the fit on more points."""

    matcher: NameMatcher
    odds: Blend
    counts: Array
    proposed: int
    learnt: Found | None = field(default=None, compare=False)

    name = "names"
    title = "names of labels that occur in the text"
    Config = NamesConfig
    can_oppose = ("name: found", "name: frequency")

    @property
    def columns(self) -> tuple[str, ...]:
        return ("name", *self.can_oppose)

    @classmethod
    def fit(cls, config: NamesConfig, fold: Fold, before: NamesPart | None) -> NamesPart | None:
        """Matches do not depend on labels, so the final fit reuses those of the first."""
        texts, names = fold.points.texts, [Name(*name) for name in fold.run.label_texts]
        if texts is None or not names:
            return None
        matcher, learnt = (before.matcher, before.learnt) if before else (None, None)
        if matcher is None or learnt is None:
            sample = texts[:: -(-len(texts) // _RARITY_FROM)]
            matcher = NameMatcher.fit(names, sample, fold.training.n_labels, config.stemmer)
            learnt = Found.of(matcher, texts)
        counts = learnt.counts(fold.seen, fold.points.Y)
        odds = before.odds if before else _learnt_odds(matcher, fold, texts, counts)
        return cls(matcher, odds, counts, config.proposed, None if fold.is_final else learnt)

    def proposals(self, asked: Asked) -> Proposals | None:
        matches, odds = self._matches(asked)
        labels = np.full((len(matches), self.proposed), -1, dtype=np.int64)
        rows = matches.rows
        order = np.lexsort((matches.labels, -odds, rows))
        rank = np.arange(len(rows)) - matches.indptr[rows]
        best = rank < self.proposed
        labels[rows[best], rank[best]] = matches.labels[order][best]
        return Proposals(labels)

    def opinions(self, asked: Asked, labels: Array) -> list[Codes]:
        matches, odds = self._matches(asked)
        place = matches.places(labels)
        found = place >= 0
        if not found.any():
            nothing = np.zeros(labels.shape, dtype=np.float32)
            return [nothing, nothing, nothing]
        frequency = np.log1p(self.counts[np.where(found, labels, 0), POINTS])
        columns = (np.maximum(odds[place] + _NOTHING, 0), 1.0, frequency)
        return [np.where(found, column, 0).astype(np.float32) for column in columns]

    def unseen_odds(self, asked: Asked, labels: Array) -> Codes | None:
        """The odds were learnt without counting the document itself, so they hold for labels that no document has."""
        unseen = (labels >= 0) & (asked.training.counts[labels] == 0)
        if not unseen.any():
            return None
        matches, odds = self._matches(asked)
        place = matches.places(labels)
        return np.where(unseen & (place >= 0), odds[place] if len(odds) else 0, np.nan).astype(np.float32)

    def _matches(self, asked: Asked) -> tuple[Matches, Array]:
        """The matches of the documents, and (nnz,) the odds of each."""

        def find() -> tuple[Matches, Array]:
            texts = asked.texts if asked.texts is not None else [None] * asked.X.shape[0]
            matches = self.matcher.match(texts)
            return matches, self.odds(columns_of(matches, self.counts))

        return asked.once("names", find)

    def state(self) -> State:
        kept = self.matcher.state()
        facts = {**kept.facts, "odds": self.odds.facts(), "proposed": self.proposed}
        return State({**kept.arrays, "counts": self.counts}, facts)

    @classmethod
    def restored(cls, config: Any, state: State, training: TrainingSet) -> NamesPart:  # noqa: ARG003 - in the state
        counts = state.array("counts", ndim=2)
        n_labels = len(counts)
        if n_labels > training.n_labels or counts.shape[1] != COUNTED or counts.dtype != np.int64 or (counts < 0).any():
            raise ModelFileError("the counts of found names in the model are damaged")
        matcher = NameMatcher.restored(state, n_labels)
        proposed = int(state.fact("proposed", low=0, high=10_000))
        return cls(matcher, Blend.from_facts(dict(state.facts.get("odds") or {}), LEARNT), counts, proposed)


def _learnt_odds(matcher: NameMatcher, fold: Fold, texts: Texts, counts: Array) -> Blend:
    """From some of the documents that may be learnt from."""
    rows = fold.rows[:: -(-len(fold.rows) // _LEARNT_FROM)]
    return learn_odds(matcher.match([texts[int(i)] for i in rows]), fold.points.Y[rows], counts)
