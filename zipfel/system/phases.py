"""The phases of a fit: what they are called in words that users know, and how far a fit has come.

A method's plan lists its stages in order; phases of one stage run side by side. A stage's share is its usual part of a
fit's time. If a stage takes more or less, the estimate of the remaining time is adjusted.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

WORDS: Mapping[str, str] = {
    "compiling": "compiling, on the first run only",
    "reading": "reading",
    "features": "counting words",
    "reading words": "counting words",
    "neighbours": "finding similar documents",
    "index": "indexing documents",
    "shortlist": "shortlisting labels",
    "shortlists": "shortlisting labels",
    "words": "finding similar documents",
    "frequency": "counting labels",
    "names": "looking for label names in texts",
    "bridge": "relating words to label names",
    "regression": "learning document codes",
    "label_sets": "matching documents and label sets",
    "joint": "looking for near-duplicates",
    "network": "training the network",
    "classifiers": "training classifiers",
    "ranker": "training classifiers",
    "tree": "training the label tree",
    "forest": "growing a forest of documents",
    "choosing parts": "choosing parts on held-out documents",
    "judge": "weighing the evidence",
    **dict.fromkeys(("mnn", "lightdxml", "glas", "dxml", "rankae"), "training the network"),
    "centroids": "averaging documents by label",
    "choice": "choosing settings on held-out documents",
    "lambda": "choosing settings on held-out documents",
    "training": "training the network",
    "votes": "choosing how neighbours vote",
    "clusters": "clustering documents",
    "label graph": "walking the label graph",
    "step 1: tokens": "step 1: learning word vectors",
    "step 2: label codes": "step 2: coding labels",
    "step 3: shortlists": "step 3: shortlisting labels",
    "step 4: classifiers": "step 4: training classifiers",
    "step 6: beta": "step 6: joining both scores",
    "module 1: features": "module 1: learning document vectors",
    "module 2: shortlists": "module 2: shortlisting labels",
    "modules 3, 4: classifiers": "modules 3, 4: training classifiers",
    "re-ranker": "training the re-ranker",
    "beta, gamma": "joining the scores",
    "probabilities": "calibrating probabilities",
    "evaluating": "evaluating",
    "saving": "saving",
}
"""What a phase's name in `timings` means to a user; a name that is not here is shown as it is."""

Stage = tuple[float, frozenset[str]]


def _plan(*stages: tuple[float, str]) -> tuple[Stage, ...]:
    return tuple((share, frozenset(names.split("; "))) for share, names in stages)


_AUTO_PARTS = "words; classifiers; frequency; names; bridge; regression; forest; joint; network; tree; label_sets"
_AUTO_PARTS += "; mnn; lightdxml; glas; dxml; rankae"
_BEFORE, _AFTER = (4.0, "reading"), ((1.0, "probabilities"), (4.0, "evaluating"), (2.0, "saving"))
_METHODS: Mapping[str, tuple[tuple[float, str], ...]] = {
    "auto": ((9, "neighbours"), (44, _AUTO_PARTS), (10, "choosing parts"), (24, _AUTO_PARTS + "; judge")),
    "knn": ((60, "index"), (30, "choice")),
    "centroid": ((90, "centroids"),),
    "ova": ((15, "shortlist"), (75, "classifiers")),
    "rankae": ((20, "choice"), (70, "training"), (10, "votes")),
    "glas": ((40, "lambda"), (50, "training")),
    "mnn": ((40, "choice"), (45, "training"), (5, "index")),
    "dxml": ((15, "label graph"), (20, "choice"), (50, "training"), (5, "clusters")),
    "sleec": ((20, "choice"), (70, "training")),
    "astec": (
        (20, "module 1: features"),
        (5, "module 2: shortlists"),
        (50, "modules 3, 4: classifiers"),
        (20, "re-ranker"),
        (5, "beta, gamma"),
    ),
    "lightdxml": (
        (10, "step 1: tokens"),
        (75, "step 2: label codes; step 3: shortlists; step 4: classifiers"),
        (5, "step 6: beta"),
    ),
}


def plan_of(method: str) -> tuple[Stage, ...]:
    """The stages of fitting this method, from reading the data to saving the model.

    >>> [sorted(names) for _, names in plan_of("centroid")][:3]
    [['reading'], ['features', 'reading words'], ['centroids']]
    """
    inner = _METHODS.get(method, ((90, "training"),))
    return _plan(_BEFORE, (8, "features; reading words"), *inner, *_AFTER)


def in_words(phase: str) -> str:
    """What a user should read.

    >>> in_words("features"), in_words("a new phase")
    ('counting words', 'a new phase')
    """
    return WORDS.get(phase, phase)


@dataclass
class _Here:
    stage: int = 0
    since: float = 0.0
    within: float = 0.0


class Course:
    """How far a fit has come along its plan, and how long it may take yet. Threads may share it."""

    def __init__(self, plan: Sequence[Stage], now: float) -> None:
        total = sum(share for share, _ in plan) or 1.0
        self._names = [names for _, names in plan]
        self._shares = [share / total for share, _ in plan]
        self._start, self._here = now, _Here(since=now)
        self._best, self._lock = 0.0, threading.Lock()

    def enter(self, phase: str, now: float) -> None:
        """A phase begins; stages before its own are done, whether they were needed or not."""
        with self._lock:
            later = range(self._here.stage, len(self._names))
            stage = next((i for i in later if phase in self._names[i]), self._here.stage)
            if stage > self._here.stage:
                self._here = _Here(stage, now)

    def within(self, share: float) -> None:
        """So much of what the current stage is doing is done."""
        with self._lock:
            self._here.within = max(self._here.within, min(1.0, share))

    def leave_out(self, seconds: float) -> None:
        """Time that was no part of the plan, such as compiling."""
        with self._lock:
            self._start += seconds
            self._here.since += seconds

    def fraction(self, now: float) -> float:
        """Between 0 and 1; it never falls. Within a stage that counts nothing it goes on by the clock."""
        with self._lock:
            here = self._here
            before, share = sum(self._shares[: here.stage]), self._shares[here.stage] if self._shares else 0.0
            elapsed = max(1e-9, here.since - self._start)
            expected = share * elapsed / before if before > 0 else 2.0
            by_clock = 0.97 * -math.expm1(-(now - here.since) / max(expected, 1e-9))
            self._best = max(self._best, before + share * max(here.within * 0.8, by_clock))
            return min(1.0, self._best)

    def seconds_left(self, now: float) -> float | None:
        """None where too little is done to tell."""
        done, elapsed = self.fraction(now), now - self._start
        return elapsed * (1 - done) / done if done > 0.04 and elapsed > 1 else None
