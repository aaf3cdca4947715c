"""auto: neighbours make the shortlist, sparse classifiers judge it, a small model joins the two.

    x: feature values, less their means if they are dense `ranker.centring`, to the power `damping` `ranker.damped`
    N(x): the m training points with the largest cosine with x                           `ranker.words`
    f(x): code of a document; up to 50,000 labels a kernel ridge regression's, which also has an opinion s(l) of every
          label `ranker.landmarks`; else a matcher's, in one cosine space with label sets g(y)   `ranker.matcher`
    M(x): the m training points with the largest cos(f(x), f(x_i)), or with the largest mean of it and of
          cos(f(x), g(y_i)) where there is a g                                           `ranker.memory`
          a second f and g, learnt from pairs of documents and label sets, where features are few `ranker.pairing`
    v_s(l) = sum_{i in N(x) or M(x)} w_si y_il: votes, each kind s of them with its own weights
    C(x): the labels with most votes, the shortlist; where there are few, the most frequent ones, too
    m(l) = w_l . x + b_l: one linear classifier a label, learnt on its positives and on the documents
           whose words' neighbours voted for it wrongly                                  `ranker.sparse`
           w_l changes along the file where documents are long and words tell their place `ranker.drift`
    o(l): what the encoder thinks of l, s(l) and its log, or cos(f(x), l)
    u(l): what classifiers of the branches above l in a tree of labels say, and its own      `ranker.tree`
    w(l): the share of l among the points that end in the same leaves of a forest            `ranker.forest`
    m2(l): classifiers of words and pairs of words, where documents are long                 `ranker.conjunctions`
    r(l): what neighbours say together, those that are alike with one voice; of long documents `ranker.neighbourhood`
    z(l): a small network that predicts all labels, where points are many and features few   `ranker.network`
    score(l) = a . [m-(l), m+(l), log v_s(l), v_s(l), o(l), u(l), w(l), m2-(l), m2+(l), r(l), z(l), log N_l]
               + t log(1/p_l)                                                                `ranker.blend`
    q(l): what two of these say together; added to the score of the best                     `ranker.products`
    c(l): what the likeliest other labels say of l; joins the rest where that pays         `ranker.context`

The weights a and the tail bonus t are learnt on held-out points, with parts that have not seen them; then the parts
see everything. docs/methods/auto.md has what each part adds.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.errors import ModelFileError
from zipfel.evidence.blend import or_usual
from zipfel.evidence.context import Context, Judge
from zipfel.evidence.drift import Drift
from zipfel.evidence.setting import COSTS, are_short, likely_cost, likely_damping
from zipfel.explanation import Explanation
from zipfel.linear import LinearClassifiers, LinearConfig, damped
from zipfel.methods.auto_asked import known_features, without_lost
from zipfel.methods.auto_config import PRESETS, AutoConfig
from zipfel.methods.auto_explain import Scored
from zipfel.methods.auto_further import Further, Known
from zipfel.methods.auto_judge import HeldOut, learn_judge, ranked_held_out, with_held_out
from zipfel.methods.auto_parts import Fitting, Found, join_votes, n_neighbours, n_strangers
from zipfel.methods.auto_training import train_parts
from zipfel.methods.auto_update import extended, joined_labels, new_labels
from zipfel.methods.base import Method, Points, State, pack_csr, under, unpack_csr
from zipfel.methods.evidence import canonical
from zipfel.methods.popular import fill_blank, label_priors
from zipfel.metrics import Propensity
from zipfel.neighbors import space as memory
from zipfel.neighbors import words
from zipfel.neighbors.centring import centre_of, centred
from zipfel.neighbors.label_sets import Encoder, PairEncoder
from zipfel.neighbors.regression import FAINT, RegressionEncoder
from zipfel.neighbors.space import AnyEncoder
from zipfel.neighbors.votes import cast_votes, fill_up
from zipfel.ranking import Ranking
from zipfel.run import Run
from zipfel.threads import at_once, blas_threads

Array = npt.NDArray[Any]
_BLOCK, _USUAL = 2048, 100
"""Rows that are answered at a time, with that many labels or fewer."""
_USUALLY = 10
"""Most frequent labels that are candidates of documents whose neighbours leave room for them."""
_SPACES: Mapping[str, type[Encoder]] = {"codes": Encoder, "pairs": PairEncoder}
"""Under these names they are kept; the first has an encoder of this kind, or a regression's."""
_NOTHING = Known()
_REST = 5
"""How many times as long as settings and neighbours the rest takes at least; where a time budget leaves less, there are
no codes, and so no tree and no pairs, no forest, no conjunctions, no drift, no neighbourhood and no network, as with
`--preset quick`."""


class Auto(Method):
    """The most accurate composition of parts; see the module."""

    name: ClassVar[str] = "auto"
    title: ClassVar[str] = "neighbours' votes and sparse classifiers, joined by a blend learnt on held-out points"
    holds_out: ClassVar[bool] = True
    Config = AutoConfig
    config: AutoConfig
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = PRESETS
    spaces_: list[memory.Space]
    further_: Further

    # -- training

    def fit(self, train: Points, valid: Points | None, run: Run) -> None:
        self.further_, begun = Further(), time.monotonic()
        everything, held = with_held_out(train, valid, self.config.valid_share, run)
        with run.timed("setting"):
            self.centre_ = centre_of(everything.X) if self.config.centring else None
            everything = Points(centred(everything.X, self.centre_), everything.Y)
            tries = self.config.trials and are_short(everything.X)
            self.damping_ = self.config.damping or likely_damping(everything.X)
        self.cost_ = self.config.ranker.cost or (None if tries else likely_cost(everything.X))
        points = Points(damped(everything.X, self.damping_), everything.Y)
        with run.timed("neighbours"):
            self.words_ = words.WordIndex.build(points.X, np.diff(points.Y.indptr) > 0)
            self.Y_, self.neighbors_ = points.Y, self.config.neighbors or n_neighbours(points.Y)
            near = self.words_.search_own(points.X, self._n_near)
        seen = np.ones(points.n_points, dtype=bool)
        seen[held] = len(held) == points.n_points
        has_time = run.time_left() > _REST * (time.monotonic() - begun)
        fitting = Fitting(points, near, run if run.time_budget is None else run.part(0.45), has_time=has_time)
        self.drift_: Drift | None = None
        if self.config.drift and self.config.classifiers and has_time and fitting.has_long_documents():
            with run.timed("drift"):
                self.drift_ = fitting.learn_drift(self.config.drifting, train.n_points)
        learn = partial(self._learn, fitting, seen, held, run)
        has_network = self.config.network and not seen.all() and fitting.has_room_for_network()
        fitting.rehearses = has_network and run.time_left() > 2 * _REST * (time.monotonic() - begun)
        if not fitting.rehearses:
            learn()
            return
        train_network = partial(fitting.train_whole_network, self.config.networking, run)
        _, network = at_once(learn, train_network, sharing=True)
        self.further_ = replace(self.further_, network=network or self.further_.network)

    def _learn(self, fitting: Fitting, seen: Array, held: Array, run: Run) -> None:
        """Parts from the points that are `seen`, the blend from the others, `held`; then the parts from all."""
        points, start = fitting.points, time.monotonic()
        self._fit_parts(fitting, seen)
        with run.timed("blend"):
            asked = self._evidence_of(points, held, fitting.near_among(seen, held))
        blend = partial(self._learn_blend, asked, points.Y[seen], run)
        if run.time_left() > time.monotonic() - start and not seen.all():
            fitting.run = run
            at_once(blend, partial(self._fit_parts, fitting, np.ones(points.n_points, dtype=bool)), sharing=True)
        else:
            blend()
            if not seen.all():  # all points count and vote nevertheless, as in a loaded model
                self._count(points.Y)
                self.spaces_ = [space.open_to_all(points.Y) for space in self.spaces_]
                self.further_ = self.further_.open_to_all(self.words_)
        if not set(self.further_.names) <= set(self.blend_.first.names):
            self.further_ = self.further_.without_forest()

    def _fit_parts(self, fitting: Fitting, seen: Array) -> None:
        """On the points that are `seen`; what was learnt on fewer points goes on from there."""
        points = fitting.points
        self._count(points.Y[seen])
        tried = COSTS if self.damping_ < 1 else COSTS[::-1]
        self.spaces_, self.further_ = [], Further()  # what fewer points left takes gigabytes where they are a million
        self.__dict__.pop("ranker_", None)
        config = self.config.replace(ranker=self._classifiers())
        self.spaces_, ranker, self.further_ = train_parts(config, fitting, self.words_, seen, self.cost_, tried)
        if ranker is not None:
            self.ranker_, self.cost_ = ranker, ranker.config.cost

    def _classifiers(self) -> LinearConfig:
        """Those that change along the file have twice the weights, most of them small."""
        c = self.config
        return c.ranker if self.drift_ is None else c.ranker.replace(threshold=c.drifting.threshold)

    def _count(self, Y: sp.csr_matrix) -> None:
        for of_others in ("_context", "_known_features"):
            self.__dict__.pop(of_others, None)
        self.priors_ = label_priors(Y)
        counts = np.bincount(Y.indices, minlength=Y.shape[1])
        self._frequent = np.argsort(-counts, kind="stable")[: min(_USUALLY, np.count_nonzero(counts))]
        self._log_counts = np.log1p(counts).astype(np.float32)
        self._rarity = np.log(Propensity().inverse(counts, Y.shape[0])).astype(np.float32)

    # -- the blend

    @property
    def evidence_names(self) -> list[str]:
        c, votes = self.config, self._vote_names
        votes = [f"log {kind}" for kind in votes] + votes
        evidence = ["doubt", "trust"] * c.classifiers + votes * c.votes
        evidence += [name for space in self.spaces_ for name in space.encoder.OPINIONS]
        return evidence + self.further_.names + ["frequency"] * c.prior

    @property
    def _vote_names(self) -> list[str]:
        return [*words.VOTES, *(name for space in self.spaces_ for name in space.encoder.VOTES)]

    def _evidence(self, X: sp.csr_matrix, known: Known = _NOTHING, k: int = 0) -> tuple[Array, Array]:
        """(n, c) candidates, k or more, -1 pads, and (n, c, f) evidence for each."""
        c, drift = self.config, self.drift_
        near = known.near or self.words_.search(X, self._n_near)
        places = known.places
        if drift and places is None:
            places = drift.place(X)
        codes = [space.encoder.encode(X) for space in self.spaces_]
        ids, weights = self._voters(near, codes)
        labels, votes = cast_votes(ids, weights, self.Y_, min(max(c.candidates, k), max(100, self.Y_.shape[1])))
        fill_up(labels, self._frequent)
        columns, opinions, margin = [], [], None
        if c.classifiers:
            rows = drift.rows(X, places) if drift and places is not None else X
            margin = np.where(labels < 0, np.float32(-1), self.ranker_.score(rows, labels))
            columns += [np.minimum(margin, 0)[:, :, None], np.maximum(margin, 0)[:, :, None]]  # a slope on either side
        if c.votes:
            columns += [np.log(votes + np.float32(FAINT)), votes]
        for space, its_codes in zip(self.spaces_, codes, strict=True):
            opinions += space.encoder.opinions(its_codes, labels)
        known = Known(near, known.leaves, places)
        opinions += self.further_.opinions(X, labels, margin, known, self.words_, self.Y_, drift)
        if c.prior:
            opinions.append(self._log_counts[labels])
        return labels, np.concatenate(
            [*columns, *(or_usual(o, labels, ~np.isnan(o))[:, :, None] for o in opinions)], axis=2
        )

    @property
    def _n_near(self) -> int:
        """Neighbours that are looked for: no more than there are points, as room is made for all that are asked for."""
        return min(self.neighbors_, int(self.Y_.shape[0]))

    def _voters(self, near: Found, codes: Sequence[Array]) -> Found:
        """Neighbours by words, that come with their cosines, and by codes in each space; and what their votes count."""
        found = near[0], words.weights_by_cosine(near[1])
        for space, its_codes in zip(self.spaces_, codes, strict=True):
            found = join_votes(found, space.search(its_codes, self._n_near))
        return found

    def _evidence_of(self, points: Points, held: Array, near: Found) -> HeldOut:
        """What the parts say of the rows that are held out, whose neighbours by words are known."""
        forest, held_out = self.further_.forest, points.take(held)
        leaves = forest.leaves_of(held, self.words_, held_out.X) if forest else None
        known = Known(near, leaves, self.drift_.places[held] if self.drift_ else None)
        blocks = [slice(a, a + _BLOCK) for a in range(0, held_out.n_points, _BLOCK)]
        parts = [self._evidence(held_out.X[rows], known.of_rows(rows)) for rows in blocks]
        labels, evidence = (np.concatenate(found) for found in zip(*parts, strict=True))
        return HeldOut(self.evidence_names, labels, evidence, held_out.Y, self._rarity, points.n_points)

    def _learn_blend(self, asked: HeldOut, Y: sp.csr_matrix, run: Run) -> None:
        """Y: labels of the points that the parts had seen."""
        with run.timed("blend"), blas_threads(1):
            context = Context.of(Y) if self.config.context else None
            self.blend_, self.tail_ = learn_judge(asked, context, self.config.tail, products=self.config.products)
            self.held_out_ = ranked_held_out(asked, self.blend_, context, self.tail_, Y)

    @cached_property
    def _context(self) -> Context | None:
        return Context.of(self.Y_) if self.blend_.second else None

    # -- prediction

    def _seen(self, X: sp.csr_matrix) -> sp.csr_matrix:
        """Features as the parts see them."""
        return damped(centred(X, self.centre_), self.damping_)

    def _asked(self, X: sp.csr_matrix) -> sp.csr_matrix:
        """The same, without those of documents that have none which any part knows."""
        return without_lost(self._seen(X), self._known_features)

    @cached_property
    def _known_features(self) -> Array:
        return known_features(self.words_, self.ranker_ if self.config.classifiers else None)

    def predict(self, X: sp.csr_matrix, k: int) -> Ranking:
        X = self._asked(X)
        size = max(1, _BLOCK * _USUAL // max(_USUAL, min(k, self.Y_.shape[1])))  # fewer where more labels are asked for
        if X.shape[0] <= size:  # slicing and joining would take a tenth of the time of a single document
            return fill_blank(self._rank(X, k), self.priors_)
        parts = [self._rank(X[a : a + size], k) for a in range(0, X.shape[0], size)]
        return fill_blank(Ranking.concatenate(parts), self.priors_)

    def _rank(self, X: sp.csr_matrix, k: int) -> Ranking:
        labels, evidence = self._evidence(X, k=k)
        scores = self.blend_(labels, evidence, self._context) + np.float32(self.tail_) * self._rarity[labels]
        blank = np.diff(X.indptr) == 0
        return Ranking.from_dense(np.where((labels < 0) | blank[:, None], -np.inf, scores), k, labels)

    def scores_without_bonus(self, ranking: Ranking) -> npt.NDArray[np.float32]:
        return np.asarray(ranking.scores - np.float32(self.tail_) * self._rarity[ranking.labels], dtype=np.float32)

    def partial_fit(self, points: Points) -> None:
        """New points become neighbours, by words and by codes, and bring columns for labels that are new; encoder,
        blend and the classifiers of known labels stay as they are."""
        c, n_before = self.config, self.Y_.shape[0]
        points = Points(self._seen(points.X), points.Y)
        self.words_ = self.words_.joined(points.X, np.diff(points.Y.indptr) > 0)
        self.drift_ = self.drift_ and self.drift_.joined(points.X)
        self.Y_ = joined_labels(self.Y_, points.Y)
        self._count(self.Y_)
        new, strangers = new_labels(self.Y_, n_before), n_strangers(c.strangers, self.Y_)
        if c.classifiers:
            ranker = self._classifiers().replace(damping=1.0, cost=self.cost_)
            self.ranker_ = extended(
                self.ranker_, self.words_, self.Y_, new, ranker,
                near=self._n_near, strangers=strangers, drift=self.drift_,
            )  # fmt: skip
        self.spaces_ = [space.joined(points.X, self.Y_, new) for space in self.spaces_]
        self.further_ = self.further_.joined(points.X, self.words_, self.Y_)

    def explain(self, x: sp.csr_matrix, labels: Sequence[int]) -> Explanation:
        """What every word, neighbour and kind of evidence added to the labels' scores for one document."""
        c, x = self.config, self._asked(canonical(x))
        found, evidence = self._evidence(x)
        blend, evidence = self.blend_.in_context(found, evidence, self._context)
        together = self.blend_.added(found, blend(evidence), evidence)
        near = self._voters(self.words_.search(x, self._n_near), [space.encoder.encode(x) for space in self.spaces_])
        return Scored(
            x, self.drift_.rows(x, self.drift_.place(x)) if self.drift_ else x,
            found[0], evidence[0], blend, together[0], self.tail_ * self._rarity,
            self.ranker_ if c.classifiers else None, self._vote_names,
            near[0][0], near[1][0], self.words_.rows, self.Y_, FAINT,
        ).explanation(labels, self.priors_)  # fmt: skip

    # -- state

    def state(self) -> State:
        arrays = {**pack_csr("Y", self.Y_), **under("words", self.words_.state())}
        facts = {
            "blend": self.blend_.facts(),
            "tail": self.tail_,
            "damping": self.damping_,
            "cost": self.cost_ or COSTS[0],
            "neighbors": self.neighbors_,
        }
        if self.centre_ is not None:
            arrays["centre"] = self.centre_
        for name, space in zip(_SPACES, self.spaces_, strict=False):
            arrays |= under(name, space.state())
        if self.config.classifiers:
            arrays |= under("ranker", self.ranker_.state())
        if self.drift_:
            arrays |= under("drift", self.drift_.state())
        return State(arrays | self.further_.state(), facts)

    def restore(self, state: State, n_features: int, n_labels: int) -> None:
        self.damping_, self.cost_ = state.fact("damping", low=0.1, high=2), state.fact("cost", low=0)
        self.centre_ = state.array("centre", shape=(n_features,)) if "centre" in state.arrays else None
        if self.centre_ is not None and self.centre_.dtype != np.float32:
            raise ModelFileError(f"the array 'centre' in the model is of {self.centre_.dtype}, not of float32")
        n_points = len(state.array("Y.indptr", ndim=1)) - 1
        self.neighbors_ = int(state.fact("neighbors", low=1))
        self.Y_ = unpack_csr(state, "Y", (n_points, n_labels))
        self._count(self.Y_)
        self.words_ = words.WordIndex.restored(state.part("words"), n_points, n_features)
        self.spaces_ = []
        for name, kept in ((name, state.part(name)) for name in _SPACES if self.config.codes):
            kind: type[AnyEncoder] = RegressionEncoder if "projection" in kept else _SPACES[name]
            if kept:  # there are none where a time budget left no room for them
                self.spaces_.append(memory.Space.restored(kind, kept, self.Y_, n_features))
        drift = state.part("drift") if self.config.drift else None
        self.drift_ = Drift.restored(drift, n_points, n_features) if drift else None
        self.further_ = Further.restored(state, self.config, self.words_, n_features, n_labels)
        self.blend_ = Judge.from_facts(state.facts["blend"], self.evidence_names)
        self.tail_ = state.fact("tail", low=-1e6, high=1e6)
        if self.config.classifiers:
            ranker = self.config.ranker.replace(damping=1.0)
            width = self.drift_.n_columns(n_features) if self.drift_ else n_features
            self.ranker_ = LinearClassifiers.restored(state.part("ranker"), width, n_labels, ranker)
