"""auto: neighbours in a learnt space make the shortlist, sparse classifiers judge it, a small model joins them.

    x: feature values to the power `damping`, rows of unit length                  `ranker.damped`
    f(x), g(y): codes of a document and of a label set in one cosine space          `ranker.matcher`
    N(x): the m training points with the largest (cos(f(x), f(x_i)) + cos(f(x), g(y_i))) / 2     `ranker.memory`
    v_s(l) = sum_{i in N(x)} w_si y_il: votes, by features, by label sets, by the crowd
    C(x): the labels with most votes, the shortlist
    m(l) = w_l . x + b_l: one linear classifier a label, learnt on its positives and on the documents
           that shortlisted it wrongly                                              `ranker.sparse`
    score(l) = a . [m-(l), m+(l), log v_s(l), log N_l] + t log(1/p_l)                       `ranker.blend`

The weights a and the tail bonus t are learnt on held-out points, with parts that have not seen them; then the parts
see everything. docs/methods/auto.md has what each part adds.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel import config as declared
from zipfel.config import param, part
from zipfel.errors import ModelFileError
from zipfel.methods.base import Method, Points, State, pack_csr, unpack_csr
from zipfel.methods.popular import fill_blank, label_priors
from zipfel.metrics import Propensity, evaluate
from zipfel.ranker import Problems, RankerConfig, SparseRanker, damped, with_strangers
from zipfel.ranker.blend import Blend, is_true
from zipfel.ranker.matcher import Encoder, Matcher, MatcherConfig
from zipfel.ranker.memory import VOTES, Memory
from zipfel.ranking import Ranking
from zipfel.run import Run

Array = npt.NDArray[Any]
TAILS = (0.0, 0.03, 0.06, 0.1)
_FAINT = 1e-3
"""Votes below this count as none: log(v + 0.001)."""
_BLOCK = 2048
"""Rows that are answered at a time."""
_FEW = 20
"""Points below which none is held out."""


@dataclass(frozen=True)
class AutoConfig(declared.Config):
    neighbors: int = param(100, "training points that vote", symbol="m", low=1)
    strangers: int = param(10, "random labels of a document that classifiers learn from besides", low=0)
    damping: float = param(
        0.6, "power of the feature values, of which rows are scaled to unit length; 1: none", low=0.1, high=2
    )
    shortlist: int = param(100, "labels of a document that classifiers learn from", low=1)
    candidates: int = param(100, "labels of a document that are scored", low=1)
    votes: bool = param(True, "votes count in the score, not only for the shortlist")
    likeness: bool = param(True, "the cosine of the document's code with the label's vector counts")
    classifiers: bool = param(True, "sparse classifiers score the shortlist")
    prior: bool = param(True, "the label's frequency counts")
    tail: float | None = param(
        None, "t, bonus of rare labels; none: the most that costs 0.1 points of P@1", symbol="t", low=0
    )
    valid_share: float = param(
        0.12, "share of train to learn the blend on where no validation set is given", low=0.01, high=0.5
    )
    refit: bool | None = param(
        None, "train the encoder again on all; none: below 20,000 points, else a short further training"
    )
    matcher: MatcherConfig = part(MatcherConfig)  # noqa: RUF009 - a frozen config
    ranker: RankerConfig = part(RankerConfig)  # noqa: RUF009 - a frozen config


class Auto(Method):
    """The most accurate composition of parts; see the module."""

    name: ClassVar[str] = "auto"
    title: ClassVar[str] = "neighbours' votes and sparse classifiers, joined by a blend learnt on held-out points"
    Config = AutoConfig
    config: AutoConfig
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {"matcher.epochs": 4, "matcher.encoders": 1, "matcher.dim": 128, "refit": False},
    }

    # -- training

    def fit(self, train: Points, valid: Points | None, run: Run) -> None:
        if valid is not None:
            valid = Points(valid.X, valid.Y[:, : train.n_labels])
        rest, held = (train, valid) if valid is not None else self._held_out(train, run)
        everything = train if valid is None else train.joined(valid)
        rest, held, everything = (Points(damped(p.X, self.config.damping), p.Y) for p in (rest, held, everything))
        start = time.monotonic()
        matcher = self._fit_parts(rest, run if run.time_budget is None else run.part(0.45))
        with run.timed("blend"):
            self._learn_blend(held)
        if train.n_points >= _FEW and run.time_left() > time.monotonic() - start:
            self._fit_parts(everything, run, matcher)

    def _held_out(self, train: Points, run: Run) -> tuple[Points, Points]:
        if train.n_points < _FEW:
            return train, train
        return train.split(self.config.valid_share, run.rng(20), at_most=4000)

    def _fit_parts(self, points: Points, run: Run, matcher: Matcher | None = None) -> Matcher:
        """Encoder, memory and classifiers on these points; given a matcher, its training goes on."""
        c, first = self.config, matcher is None
        again = not first
        refit = c.refit if c.refit is not None else points.n_points < 20_000
        with run.timed("encoder"):
            if matcher is None or refit:
                matcher, again = Matcher(c.matcher, points.X, points.Y, run), False
            matcher.fit(points.X, points.Y, run, name="matcher" if first else "matcher-all", again=again)
        with run.timed("memory"):
            self._remember(matcher.encoder(), None, points.Y, points.X, run.seed)
            shortlist = self._own_shortlist(points, run)
        with run.timed("classifiers"):
            self.ranker_ = SparseRanker(c.ranker.replace(damping=1.0))
            if c.classifiers:
                self.ranker_.fit(points.X, Problems.build(points.Y, shortlist), seed=run.seed)
        return matcher

    def _remember(
        self, encoder: Encoder, codes: Array | None, Y: sp.csr_matrix, X: sp.csr_matrix | None, seed: int
    ) -> None:
        if codes is None:
            assert X is not None
            codes = encoder.points(X).astype(np.float16)
        self.encoder_, self.codes_ = encoder, codes
        self.memory_ = Memory(encoder, codes.astype(np.float32), Y, seed=seed)
        self.priors_ = label_priors(Y)
        counts = np.bincount(Y.indices, minlength=Y.shape[1])
        self._log_counts = np.log1p(counts).astype(np.float32)
        self._rarity = np.log(Propensity().inverse(counts, Y.shape[0])).astype(np.float32)

    def _own_shortlist(self, points: Points, run: Run) -> Array:
        """(n, shortlist): what each training point's neighbours vote for, itself not asked."""
        parts = []
        for a in range(0, points.n_points, _BLOCK):
            own = np.arange(a, min(a + _BLOCK, points.n_points))
            ids, weights = self.memory_.search(self.codes_[own].astype(np.float32), self.config.neighbors, own=own)
            parts.append(self.memory_.vote(ids, weights, self.config.shortlist)[0])
        found = np.concatenate(parts).astype(np.int32)
        return with_strangers(found, points.n_labels, self.config.strangers, run.rng(23))

    # -- the blend

    @property
    def evidence_names(self) -> list[str]:
        c = self.config
        evidence = ["doubt", "trust"] * c.classifiers + [*VOTES] * c.votes
        return evidence + ["likeness"] * c.likeness + ["frequency"] * c.prior

    def _evidence(self, X: sp.csr_matrix) -> tuple[Array, Array]:
        """(n, c) candidates, -1 pads, and (n, c, f) evidence for each."""
        c = self.config
        codes = self.encoder_.points(X)
        ids, weights = self.memory_.search(codes, c.neighbors)
        labels, votes = self.memory_.vote(ids, weights, c.candidates)
        columns = []
        if c.classifiers:
            margin = np.where(labels < 0, -1, self.ranker_.score(X, labels))
            columns += [np.minimum(margin, 0), np.maximum(margin, 0)]  # a slope of its own on either side
        if c.votes:
            columns += list(np.moveaxis(np.log(votes + np.float32(_FAINT)), 2, 0))
        if c.likeness:
            columns.append(self.encoder_.likeness(codes, labels))
        if c.prior:
            columns.append(self._log_counts[labels])
        return labels, np.stack(columns, axis=2).astype(np.float32)

    def _learn_blend(self, held: Points) -> None:
        parts = [self._evidence(held.X[a : a + _BLOCK]) for a in range(0, held.n_points, _BLOCK)]
        labels, evidence = (np.concatenate(found) for found in zip(*parts, strict=True))
        hits = is_true(labels, held.Y)
        known = labels >= 0
        names = self.evidence_names
        self.blend_ = Blend.fit_top(names, evidence, hits, known, monotone=[n for n in names if n != "frequency"])
        scores = np.where(known, self.blend_(evidence), -np.inf)
        self.tail_ = self.config.tail if self.config.tail is not None else self._choose_tail(labels, scores, held.Y)

    def _choose_tail(self, labels: Array, scores: Array, truth: sp.csr_matrix) -> float:
        """The largest bonus for rare labels that costs at most 0.1 points of P@1 and of P@5."""
        found = []
        for tail in TAILS:
            ranking = Ranking.from_dense(scores + tail * self._rarity[labels], 5, labels)
            quality = evaluate(ranking, truth, ks=(1, 5))
            found.append((quality["P@1"], quality["P@5"]))
        best = np.array(found).max(axis=0)
        return max(
            tail for tail, got in zip(TAILS, found, strict=True) if np.all(np.array(got) >= best - 0.001) or tail == 0
        )

    # -- prediction

    def predict(self, X: sp.csr_matrix, k: int) -> Ranking:
        X = damped(X, self.config.damping)
        parts = [self._rank(X[a : a + _BLOCK], k) for a in range(0, max(1, X.shape[0]), _BLOCK)]
        return fill_blank(Ranking.concatenate(parts), self.priors_)

    def _rank(self, X: sp.csr_matrix, k: int) -> Ranking:
        labels, evidence = self._evidence(X)
        scores = self.blend_(evidence) + np.float32(self.tail_) * self._rarity[labels]
        blank = np.diff(X.indptr) == 0
        return Ranking.from_dense(np.where((labels < 0) | blank[:, None], -np.inf, scores), k, labels)

    # -- state

    def state(self) -> State:
        arrays = {"codes": self.codes_, **self.encoder_.state(), **pack_csr("Y", self.memory_.Y)}
        if self.config.classifiers:
            arrays |= {f"ranker.{name}": array for name, array in self.ranker_.state().items()}
        return State(arrays, {"blend": self.blend_.facts(), "tail": self.tail_})

    def restore(self, state: State, n_features: int, n_labels: int) -> None:
        codes, features = state.array("codes", ndim=2), state.array("features", ndim=2)
        labels = state.array("labels", shape=(n_labels, features.shape[1]))
        if len(features) != n_features or codes.shape[1] != features.shape[1]:
            raise ModelFileError(f"the model has feature vectors of shape {features.shape}, not of {n_features} rows")
        encoder = Encoder(features.astype(np.float32), labels.astype(np.float32), self.config.matcher.dim)
        self._remember(encoder, codes, unpack_csr(state, "Y", (len(codes), n_labels)), None, 0)
        self.blend_ = Blend.from_facts(state.facts["blend"], self.evidence_names)
        self.tail_ = state.fact("tail", low=-1e6, high=1e6)
        if self.config.classifiers:
            arrays = {name.removeprefix("ranker."): a for name, a in state.arrays.items() if name.startswith("ranker.")}
            self.ranker_ = SparseRanker.restored(arrays, n_features, n_labels, self.config.ranker.replace(damping=1.0))
