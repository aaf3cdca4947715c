"""Selects the parts that stay. A part stays if held-out points are ranked worse without it.

Backward, one part at a time: the judge's first blend is fitted again without a part's columns, and the part with
the smallest loss goes. Of two parts with the same evidence, one stays. A part stays if the last of these falls without
it, or if the last does not rise and one of the others falls:

    precision   the mean of P@1, P@3 and P@5, by more than its standard error
    rare labels the same with propensities, by more than its standard error, at no loss of precision
    likelihood  the log-likelihood of the ten best candidates of a document, by more than two standard errors, less one
                over the number of documents for each column (Akaike), as the blend is fitted to the same documents

The likelihood is by far the most sensitive. On three splits of delicious, its gains from the network are 3.9 to 4.5
standard errors, those of the precision 1.0, 1.4 and 2.4; parts that have no weight gain nothing in either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfel.evidence import rules
from zipfel.evidence.comparing import CUTS, mean_and_error, mean_over_cuts
from zipfel.evidence.context import FRONT
from zipfel.evidence.judge import HeldOut
from zipfel.linear.blend import Blend
from zipfel.system.threads import at_once

Array = npt.NDArray[Any]
_TOP = 10
"""Candidates of a document that blends are learnt from."""
_SURE = 2.0
"""Standard errors of the likelihood."""


@dataclass(frozen=True)
class Verdict:
    """gain, error: what is lost without the part, as a share (the mean of P@1, P@3 and P@5), and its standard error;
    likelihood, likelihood_error: the same of the log-likelihood of a document."""

    part: str
    gain: float
    error: float
    likelihood: float
    likelihood_error: float
    kept: bool

    @property
    def strength(self) -> float:
        """The gain in standard errors. The part with the least goes first."""
        return self.likelihood / max(self.likelihood_error, 1e-12)


_NAN = float("nan")
_UNKNOWN = Verdict("", _NAN, _NAN, _NAN, _NAN, kept=True)


def verdicts(
    held: HeldOut, columns: Mapping[str, Sequence[int]], doubted: Sequence[str], needs: Mapping[str, Sequence[str]]
) -> list[Verdict]:
    """Of the parts `doubted`, which may go. columns: of evidence, by part; needs: by part, of which it needs one."""
    if len(held.labels) < rules.CHOICE_FROM:
        return [replace(_UNKNOWN, part=name) for name in doubted]
    compared = _Comparison.of(held)
    kept, found = list(columns), dict[str, Verdict]()
    while True:
        asked = [name for name in doubted if name in kept and _can_go(name, kept, needs)]
        tried = _leave_one_out(compared, {name: columns[name] for name in kept}, asked)
        found |= {verdict.part: verdict for verdict in tried}
        going = [verdict for verdict in tried if not verdict.kept]
        if not going:
            return [replace(found.get(name, _UNKNOWN), part=name, kept=name in kept) for name in doubted]
        kept.remove(min(going, key=lambda verdict: verdict.strength).part)


def leave_one_out(held: HeldOut, columns: Mapping[str, Sequence[int]], asked: Sequence[str]) -> list[Verdict]:
    """What is lost without each of the parts that are asked about, when all others stay."""
    return _leave_one_out(_Comparison.of(held), columns, asked)


def _leave_one_out(compared: _Comparison, columns: Mapping[str, Sequence[int]], asked: Sequence[str]) -> list[Verdict]:
    used = [i for own in columns.values() for i in own]
    all_of_them = compared.quality(used)
    lacking = [[i for i in used if i not in columns[name]] for name in asked]
    qualities = at_once(*(partial(compared.quality, rest) for rest in lacking)) if asked else []
    penalties = [len(columns[name]) / len(compared.hits) for name in asked]
    return [_verdict(*one, all_of_them) for one in zip(asked, qualities, penalties, strict=True)]


def _can_go(name: str, kept: Sequence[str], needs: Mapping[str, Sequence[str]]) -> bool:
    """Whether every part that needs this one has another one that it can use."""
    return all(name not in needs.get(other, ()) or set(needs[other]) & set(kept) - {name} for other in kept)


def _verdict(name: str, without: Array, penalty: float, before: Array) -> Verdict:
    """without, before: (3, n) the documents' precision, propensity-scored precision and log-likelihood; penalty: what
    the likelihood gains by columns of noise."""
    changes = [mean_and_error(all_of_them - rest) for all_of_them, rest in zip(before, without, strict=True)]
    (gain, error), (rare, rare_error), (likelihood, doubt) = changes
    likelihood -= penalty
    pays = gain > error or (gain >= 0 and rare > rare_error)
    kept = likelihood > _SURE * doubt or (likelihood > 0 and pays)
    return Verdict(name, gain, error, likelihood, doubt, kept)


@dataclass(frozen=True)
class _Comparison:
    """The held-out points' best candidates by all evidence. evidence: (n, c, f); hits: (n, c); worth: (n, c) what a hit
    counts with propensities; known, best: (n, c) which are candidates, and which ones blends are learnt from."""

    names: Sequence[str]
    monotone: Sequence[str]
    evidence: Array
    hits: Array
    worth: Array
    known: Array
    best: Array
    blend: Blend

    @classmethod
    def of(cls, held: HeldOut) -> _Comparison:
        known, hits = held.labels >= 0, held.hits
        blend = Blend.fit_top(held.names, held.evidence, hits, known, monotone=held.monotone)
        scores = np.where(known, blend(held.evidence), -np.inf)
        front = np.argsort(-scores, axis=1, kind="stable")[:, :FRONT]
        evidence = np.take_along_axis(held.evidence, front[:, :, None], axis=1)
        labels, hits, known = (np.take_along_axis(part, front, axis=1) for part in (held.labels, hits, known))
        best = known & (np.arange(front.shape[1]) < _TOP)
        worth = np.exp(held.rarity)[labels]
        return cls(held.names, held.monotone, evidence, hits, worth, known, best, blend)

    def quality(self, columns: Sequence[int]) -> Array:
        """(3, n) of a blend of some columns: precision, the same with propensities, log-likelihood."""
        names = [self.names[i] for i in columns]
        evidence = np.ascontiguousarray(self.evidence[:, :, list(columns)])
        start = Blend(tuple(names), tuple(self.blend.weights[i] for i in columns), self.blend.bias)
        monotone = [name for name in names if name in self.monotone]
        blend = Blend.fit(names, evidence[self.best], self.hits[self.best], monotone=monotone, start=start)
        odds = blend(evidence)
        order = np.argsort(-np.where(self.known, odds, -np.inf), axis=1, kind="stable")[:, : max(CUTS)]
        hits, worth = (np.take_along_axis(part, order, axis=1) for part in (self.hits, self.worth))
        loss = np.logaddexp(0, np.where(self.hits, -odds, odds))
        likelihood = -np.where(self.best, loss, 0).sum(axis=1)
        return np.stack([mean_over_cuts(hits), mean_over_cuts(hits * worth), likelihood])
