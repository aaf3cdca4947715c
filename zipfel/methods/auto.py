"""auto: parts give evidence for a document's labels, and a judge turns it into one score.

    plan     which parts are tried, by the data's shape and the effort                   `evidence/rules.py`
    rehearse the parts learn from all points except some that are held out               `evidence/parts/`
    choose   a part goes if the held-out points are ranked as well without it            `evidence/selection.py`
    judge    a small model of all evidence for a label learns from the held-out points   `evidence/judge.py`
    fit      the parts that stay learn from all points, from where the rehearsal ended   `evidence/fitting.py`

A document's candidates are the labels that its neighbours vote for, by words and by codes. docs/how-auto-works.md has
what each part adds.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.data.splitting import held_out_runs
from zipfel.errors import ModelFileError
from zipfel.evidence import rules
from zipfel.evidence.context import Context
from zipfel.evidence.contributions import without_zeros
from zipfel.evidence.ensemble import Ensemble, columns_by_part
from zipfel.evidence.explain import Scored
from zipfel.evidence.fitting import fit_parts
from zipfel.evidence.judge import HeldOut, Judge
from zipfel.evidence.part import Asked, Fold, More, Near, Part
from zipfel.evidence.parts import PARTS
from zipfel.evidence.parts.embeddings import EmbeddingsPart
from zipfel.evidence.parts.ranked import ranked_part
from zipfel.evidence.rules import Tried
from zipfel.evidence.selection import verdicts
from zipfel.evidence.shape import Shape
from zipfel.evidence.training_set import TrainingSet, new_labels
from zipfel.explanation import Explanation
from zipfel.kernels.sparse_rows import without_unknown
from zipfel.linear import damped
from zipfel.methods.auto_config import PRESETS, AutoConfig
from zipfel.methods.base import Method, Points, State, under
from zipfel.methods.popular import fill_blank, label_priors
from zipfel.methods.registry import make_method
from zipfel.metrics import Propensity
from zipfel.neighbors.centring import centre_of, centred, with_features
from zipfel.points import NO_SOURCES, Sources
from zipfel.ranking import Ranking
from zipfel.run import Run
from zipfel.system.threads import at_once, blas_threads

Array = npt.NDArray[Any]
_BLOCK, _USUAL = 2048, 100
"""Rows that are predicted at a time, for up to that many labels a row."""


def _paper(name: str, params: Mapping[str, Any] | None) -> Method:
    """The paper's method as a part, by default with its preset `best`."""
    return make_method(name, params, "best" if params is None else None)


PAPERS = ("mnn", "lightdxml", "glas", "dxml", "rankae")
ALL_PARTS: Mapping[str, type[Part]] = {
    **PARTS,
    **{name: ranked_part(name, f"the method {name}", partial(_paper, name)) for name in PAPERS},
}


def has_papers() -> bool:
    """Whether the extra `papers` is installed."""
    return all(importlib.util.find_spec(name) is not None for name in ("torch", "faiss"))


class Auto(Method):
    """Parts, and the judge that joins their evidence; see the module."""

    name: ClassVar[str] = "auto"
    title: ClassVar[str] = "neighbours, classifiers and other kinds of evidence, joined by a judge"
    holds_out: ClassVar[bool] = True
    takes_new_features: ClassVar[bool] = True
    reads_sources: ClassVar[bool] = True
    by_workers: ClassVar[str] = "tasks"
    Config = AutoConfig
    config: AutoConfig
    presets = PRESETS
    ensemble_: Ensemble
    plan_: list[Tried]

    # -- training

    def bytes_needed(self, train: Points) -> int:
        return rules.bytes_of_fit(Shape.of(train, 0), self.config.effort)

    def fit(self, train: Points, valid: Points | None, run: Run) -> None:
        points, held = _with_held_out(train, valid, self.config.valid_share, run)
        with run.timed("neighbours"):
            points = self._prepare(points)
            self.shape_ = Shape.of(points, len(held), len(run.label_texts))
            self.config_ = _resolved(self.config, self.shape_)
            self.training_ = TrainingSet.of(points, Propensity(*run.propensity))
            near = Near(*self.training_.words.search_own(points.X, self._n_near))
        seen = np.ones(points.n_points, dtype=bool)
        seen[held] = len(held) == points.n_points  # where all points are held out, all are seen
        fold = Fold(points, seen, near, self.training_, self.shape_, run, is_final=False)
        del near  # of a million points half a gigabyte
        self.plan_ = self._plan(run)
        parts = fit_parts(self.plan_, ALL_PARTS, self.config_, fold, {})
        with run.timed("choosing parts"), blas_threads(1):
            known = self._evidence_of(Ensemble(tuple(parts.values()), self.config.candidates), fold, held)
            self.plan_ = self._chosen(known, parts)
        kept = {tried.part: parts[tried.part] for tried in self.plan_ if tried.kept}
        columns = columns_by_part(list(parts.values()))
        known = known.only([i for name in kept for i in columns[name]])
        parts.clear()
        fold = fold.with_near_of(np.flatnonzero(~seen))
        finish = partial(self._finish, kept, fold)
        at_once(partial(self._learn_judge, known, points.Y, seen, run), finish, sharing=True)
        self._forget()

    def _prepare(self, points: Points) -> Points:
        self.centre_ = centre_of(points.X) if self.config.centring else None
        X = centred(points.X, self.centre_)
        self.damping_ = self.config.damping or rules.damping(Shape.of(Points(X, points.Y), 0))
        return Points(damped(X, self.damping_), points.Y, points.texts, points.vectors)

    def _plan(self, run: Run) -> list[Tried]:
        only, without = self.config.chosen, self.config.left_out
        available = {rule.part: rule.needs is None or has_papers() for rule in rules.RULES}
        return rules.plan(self.shape_, self.config.effort, available, only, without, run.time_left())

    def _chosen(self, known: HeldOut, parts: dict[str, Part]) -> list[Tried]:
        """The plan with each part's verdict."""
        columns = columns_by_part(list(parts.values()))
        doubted = [name for name in parts if rules.is_doubted(name, self.shape_) and not self.config.keep_all]
        found = {
            v.part: v for v in verdicts(known, columns, doubted, {name: rules.rule_of(name).after for name in parts})
        }
        return [_with_verdict(tried, tried.part in parts, found.get(tried.part)) for tried in self.plan_]

    def _finish(self, kept: dict[str, Part], fold: Fold) -> None:
        """Fits the parts that stay on all points. If the time is up, the parts of the rehearsal are used, with all
        points as voters."""
        names = list(kept)
        if fold.seen.all() or fold.run.time_left() <= 0:
            nothing = More(fold.points.X[:0], self.training_, np.zeros(0, dtype=np.int64), self._n_near)
            found = {name: part.joined(nothing) for name, part in kept.items()}
        else:
            everything = replace(fold, seen=np.ones(fold.points.n_points, dtype=bool), is_final=True)
            found = fit_parts(self.plan_, ALL_PARTS, self.config_, everything, kept)
        self.ensemble_ = Ensemble(tuple(found[name] for name in names), self.config.candidates)

    def _evidence_of(self, ensemble: Ensemble, fold: Fold, held: Array) -> HeldOut:
        """The parts' evidence for the held-out rows."""
        points = fold.points.take(held)
        near, blocks = fold.near_among_seen(held), range(0, points.n_points, _BLOCK)
        found = []
        for a in blocks:
            rows = slice(a, a + _BLOCK)
            its_near = Near(near.ids[rows], near.cosines[rows])
            own = points.sources.of_rows(rows)
            asked = Asked(points.X[rows], self.training_, self._n_near, sources=own, near=its_near, rows=held[rows])
            candidates, evidence = ensemble.evidence(asked)
            found.append((candidates.labels, evidence))
        labels, evidence = (np.concatenate(part) for part in zip(*found, strict=True))
        counts = fold.seen_counts
        labels[counts[labels] == 0] = -1  # only `unseen_odds` scores them
        rarity = self.training_.rarity_of(counts, int(fold.seen.sum()))
        return HeldOut(ensemble.names, labels, evidence, points.Y, counts, rarity, ensemble.can_oppose)

    def _learn_judge(self, known: HeldOut, Y: sp.csr_matrix, seen: Array, run: Run) -> None:
        """Y: labels of all points; seen: (n,) which of them the parts have learnt from."""
        c = self.config
        with run.timed("judge"), blas_threads(1):
            context = Context.of(Y[seen]) if c.context else None
            self.judge_ = Judge.fit(known, context, products=c.products, bonus=c.tail)
            self.held_out_ = self.judge_.cross_ranked(known, context)

    # -- derived from the model

    @property
    def _n_near(self) -> int:
        """Neighbours that are searched: at most the number of points, as memory is allocated for all of them."""
        wanted = self.config.neighbors or rules.neighbors(self.shape_, self.config.effort)
        return min(wanted, self.training_.n_points)

    def _forget(self) -> None:
        for name in ("_context", "_priors", "_known_features"):
            self.__dict__.pop(name, None)

    @cached_property
    def _context(self) -> Context | None:
        return Context.of(self.training_.Y) if self.judge_.second else None

    @cached_property
    def _priors(self) -> npt.NDArray[np.float32]:
        return label_priors(self.training_.Y)

    @cached_property
    def _known_features(self) -> npt.NDArray[np.bool_]:
        """(n_features,) which features the index of words has, or another part can use."""
        known: npt.NDArray[np.bool_] = (
            np.bincount(self.training_.words.rows.indices, minlength=self.training_.n_features) > 0
        )
        for part in self.ensemble_.parts:
            own = part.known_features()
            if own is not None:
                known[: len(own)] |= own
        return known

    # -- prediction

    @property
    def vector_dim(self) -> int | None:
        """Numbers of the embeddings that documents need, None if no part reads them."""
        part = self.ensemble_.part("embeddings")
        return part.dim if isinstance(part, EmbeddingsPart) else None

    def _asked(self, X: sp.csr_matrix, sources: Sources) -> Asked:
        """A document without any known feature counts as empty."""
        X = damped(centred(X, self.centre_), self.damping_)
        return Asked(without_unknown(X, self._known_features), self.training_, self._n_near, sources=sources)

    def predict(self, X: sp.csr_matrix, k: int, sources: Sources = NO_SOURCES) -> Ranking:
        size = max(1, _BLOCK * _USUAL // max(_USUAL, min(k, self.training_.n_labels)))  # fewer where k is large
        if X.shape[0] <= size:  # slicing and joining would take a tenth of the time of a single document
            return fill_blank(self._rank(X, k, sources), self._priors)
        blocks = [slice(a, a + size) for a in range(0, X.shape[0], size)]
        parts = [self._rank(X[rows], k, sources.of_rows(rows)) for rows in blocks]
        return fill_blank(Ranking.concatenate(parts), self._priors)

    def _rank(self, X: sp.csr_matrix, k: int, sources: Sources) -> Ranking:
        asked = self._asked(X, sources)
        found, evidence = self.ensemble_.evidence(asked, k)
        scores = self.judge_.log_odds(found.labels, evidence, self._context)
        unseen = self.ensemble_.unseen_odds(asked, found.labels)
        scores = np.where(np.isnan(unseen), scores, unseen)
        scores = scores + np.float32(self.judge_.bonus) * self.training_.rarity[found.labels]
        scores[(found.labels < 0) | asked.is_blank[:, None]] = -np.inf
        return Ranking.from_dense(scores, k, found.labels)

    def scores_without_bonus(self, ranking: Ranking) -> npt.NDArray[np.float32]:
        bonus = np.float32(self.judge_.bonus) * self.training_.rarity[ranking.labels]
        return np.asarray(ranking.scores - bonus, dtype=np.float32)

    def partial_fit(self, points: Points) -> None:
        """New points become neighbours, by words and by codes. Classifiers of known labels learn from them, and new
        labels get classifiers. New features count for neighbours and classifiers. Encoders and the judge stay as they
        are."""
        centre = with_features(self.centre_, points.n_features)
        X = damped(centred(points.X, centre), self.damping_)
        training = self.training_.joined(Points(X, points.Y))
        new = new_labels(training.Y, self.training_.n_points)
        more = More(X, training, new, self._n_near, points.vectors)
        parts = tuple(part.joined(more) for part in self.ensemble_.parts)
        self.training_, self.ensemble_, self.centre_ = training, Ensemble(parts, self.ensemble_.width), centre
        self._forget()

    def explain(self, x: sp.csr_matrix, labels: Sequence[int], sources: Sources = NO_SOURCES) -> Explanation:
        """What every word, neighbour and kind of evidence added to the labels' scores for one document."""
        asked = self._asked(without_zeros(x), sources)
        found, evidence = self.ensemble_.evidence(asked)
        blend, evidence = self.judge_.in_context(found.labels, evidence, self._context)
        unseen = self.ensemble_.unseen_odds(asked, found.labels)
        by_products = self.judge_.by_products(found.labels, blend(evidence), evidence)
        bonus = self.judge_.bonus * self.training_.rarity
        scored = Scored(
            asked, self.ensemble_, found.labels[0], evidence[0], blend, by_products[0], bonus, found.voters, found.kinds
        )
        return _with_unseen(scored.explanation(labels, self._priors), found.labels[0], unseen[0], bonus)

    # -- state

    def state(self) -> State:
        arrays, facts = dict(self.training_.state()), dict[str, Any]()
        if self.centre_ is not None:
            arrays["centre"] = self.centre_
        for part in self.ensemble_.parts:
            state = part.state()
            arrays |= under(f"part.{part.name}", state.arrays)
            facts[part.name] = dict(state.facts)
        plan, shape = [asdict(tried) for tried in self.plan_], asdict(self.shape_)
        kept = {"damping": self.damping_, "plan": plan, "shape": shape, "parts": facts}
        kept["propensity"] = asdict(self.training_.propensity)
        judge, n_fitted = self.judge_.facts(), self.training_.n_fitted_features
        return State(arrays, {"judge": judge, "n_fitted_features": n_fitted, **kept})

    def restore(self, state: State, n_features: int, n_labels: int) -> None:
        self.shape_ = Shape.from_facts(state.facts.get("shape"))
        self.plan_ = rules.plan_from_facts(state.facts.get("plan"))
        self.config_ = _resolved(self.config, self.shape_)
        self.damping_ = state.fact("damping", low=0.1, high=2)
        self.centre_ = state.array("centre", ndim=1) if "centre" in state.arrays else None
        if self.centre_ is not None and (self.centre_.dtype != np.float32 or len(self.centre_) != n_features):
            raise ModelFileError(f"the model's centre must be {n_features} numbers of float32")
        is_there = "n_fitted_features" in state.facts  # not in older models: they have no other features
        n_fitted = int(state.fact("n_fitted_features", low=0, high=n_features)) if is_there else n_features
        constants = State(facts=state.facts.get("propensity") or asdict(Propensity()))
        propensity = Propensity(constants.fact("A", low=0), constants.fact("B", low=0))
        self.training_ = TrainingSet.restored(state, n_features, n_labels, n_fitted, propensity)
        facts, parts = state.facts.get("parts"), []
        for name in (tried.part for tried in self.plan_ if tried.kept):
            if name not in ALL_PARTS or not isinstance(facts, dict) or not isinstance(facts.get(name), dict):
                raise ModelFileError(f"the model has no part {name!r:.60}")
            kept = State(state.part(f"part.{name}"), facts[name])
            parts.append(ALL_PARTS[name].restored(getattr(self.config_, name, None), kept, self.training_))
        self.ensemble_ = Ensemble(tuple(parts), self.config.candidates)
        self.judge_ = Judge.from_facts(state.facts.get("judge"), self.ensemble_.names)
        self._forget()


def _with_held_out(train: Points, valid: Points | None, share: float | None, run: Run) -> tuple[Points, Array]:
    """All points, and which rows of them the judge learns from: those of `valid`, or a share of train, or all rows of
    fewer than `rules.HELD_OUT_FROM`."""
    n = train.n_points
    if valid is not None and valid.n_points:
        known = valid.within(train.n_labels)
        return train.joined(known), np.arange(n, n + valid.n_points)
    if n < rules.HELD_OUT_FROM:
        return train, np.arange(n)
    return train, held_out_runs(n, rules.held_out(n, share), run.rng(20))


def _resolved(config: AutoConfig, shape: Shape) -> AutoConfig:
    """The configuration with the rules' values for settings that the user left open."""
    c = config.classifiers
    classifiers = c.replace(
        cost=c.cost or rules.classifier_cost(shape),
        shortlist=c.shortlist or rules.shortlist(shape, config.effort),
        random_negatives=rules.random_negatives(shape) if c.random_negatives is None else c.random_negatives,
    )
    return config.replace(
        classifiers=classifiers,
        regression=config.regression.replace(landmarks=config.regression.landmarks or rules.landmarks(shape)),
        label_sets=config.label_sets.replace(epochs=config.label_sets.epochs or rules.label_set_epochs(shape)),
        network=config.network.replace(epochs=config.network.epochs or rules.network_epochs(shape)),
    )


def _with_unseen(explanation: Explanation, labels: Array, unseen: Array, bonus: Array) -> Explanation:
    """The explanation, in which labels without a training document have the evidence of their names only."""
    own = {int(label): float(odds) for label, odds in zip(labels, unseen, strict=True) if not np.isnan(odds)}
    evidence = {
        label: {"name": own[label], "bonus": float(bonus[label])} if label in own else kinds
        for label, kinds in explanation.evidence.items()
    }
    return replace(explanation, evidence=evidence)


def _with_verdict(tried: Tried, is_there: bool, verdict: Any) -> Tried:
    if not is_there:
        return tried if not tried.tried else replace(tried, why="the time was up before it had learnt")
    if verdict is None or np.isnan(verdict.gain):
        return replace(tried, kept=True)
    why = "" if verdict.kept else "held-out documents are predicted as well without it"
    return replace(tried, **{**asdict(verdict), "why": why})
