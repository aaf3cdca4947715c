"""Fits a method together with the calibration that turns its scores into probabilities.

The calibration learns from documents that the method was not trained on. If a method holds out documents itself, these
are used. A cheap method is fitted twice, first without a part of train. For the other methods a small part of train
stays out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from zipfel.calibration import RANKS, Calibration, HeldOutRanking
from zipfel.data.splitting import held_out_runs
from zipfel.decisions import Thresholds
from zipfel.executor import current_executor
from zipfel.linear.blend import is_true
from zipfel.methods import Method, Points
from zipfel.ranking import Ranking
from zipfel.run import Run

_FEW = 100
"""Training points below which none is held out: the training points themselves calibrate, and may be too sure."""
_SHARE, _LEAST, _MOST = 0.03, 100, 1000
"""Of train that calibrates a method which does not get these points back; points at least (up to a tenth of train), and
at most."""
_CHEAP_SHARE = 0.1
_BLOCK = 2048


class Learned(NamedTuple):
    """calibration: none for a method whose scores are probabilities."""

    calibration: Calibration | None
    thresholds: Thresholds


def fit_calibrated(method: Method, points: Points, valid: Points | None, run: Run) -> Learned:
    """Fits the method, and learns on held-out documents what makes its scores probabilities, and thresholds."""
    asked = points
    if method.gives_probabilities or method.holds_out or points.n_points < _FEW:
        _fit(method, points, valid, run)
    elif method.is_cheap:
        rest, asked = _split(points, _CHEAP_SHARE, run)
        twin = type(method)(method.config)
        _fit(twin, rest, valid, replace(run.part(0.45), checkpoint=None, resume=False, curves={}))
        held = rank_held_out(twin, asked, label_counts(rest))
        _fit(method, points, valid, run)
        return learned_from(held, gives_probabilities=False)
    else:
        rest, asked = _split(points, _SHARE, run)
        _fit(method, rest, valid, run)
    held = method.held_out_ or rank_held_out(method, asked, label_counts(points))
    method.held_out_ = None
    return learned_from(held, gives_probabilities=method.gives_probabilities)


def _fit(method: Method, points: Points, valid: Points | None, run: Run) -> None:
    """By several workers, where there are some and the method's networks can be trained by them."""
    executor = current_executor()
    if executor is not None and method.by_workers == "network":
        executor.fit(method, points, valid, run)
    else:
        method.fit(points, valid, run)


def learned_from(held: HeldOutRanking, *, gives_probabilities: bool) -> Learned:
    """Of documents that the method has not trained on."""
    calibration = None if gives_probabilities else held.calibration()
    scores = np.where(held.labels >= 0, held.scores, -np.inf)
    p = scores if calibration is None else calibration(scores, held.counts)
    n_true = held.hits.sum(axis=1) if held.n_true is None else held.n_true
    return Learned(calibration, Thresholds.fit(p, held.hits, held.counts, n_true))


def _split(points: Points, share: float, run: Run) -> tuple[Points, Points]:
    n = points.n_points
    size = min(max(round(share * n), min(_LEAST, n // 10)), _MOST)
    held = held_out_runs(n, size, run.rng(50))
    rest = np.setdiff1d(np.arange(n), held)
    return points.take(rest), points.take(held)


def label_counts(points: Points) -> npt.NDArray[np.int64]:
    """(n_labels,) points with each label."""
    return np.bincount(points.Y.indices, minlength=points.n_labels)


def rank_held_out(method: Method, asked: Points, counts: npt.NDArray[np.integer]) -> HeldOutRanking:
    """The best labels of documents with known true labels. Documents without any known feature are left out.
    counts: (n_labels,) training points of each label."""
    width = min(RANKS, asked.n_labels)
    blocks = [slice(a, a + _BLOCK) for a in range(0, max(1, asked.n_points), _BLOCK)]
    parts = [method.ranked(asked.X[block], width, asked.sources.of_rows(block)) for block in blocks]
    ranking = Ranking.concatenate(parts)
    known = np.flatnonzero(~_is_prior(method, ranking))
    ranking, Y = ranking[known], asked.Y[known]
    scores = method.scores_without_bonus(ranking)
    n_true = np.diff(Y.indptr)
    return HeldOutRanking(ranking.labels, scores, is_true(ranking.labels, Y), counts[ranking.labels], n_true)


def with_probabilities(
    method: Method, ranking: Ranking, calibration: Calibration | None, counts: npt.NDArray[np.integer]
) -> Ranking:
    """The same ranking with probabilities for scores. counts: (n_labels,) training points of each label."""
    if calibration is None:
        return ranking
    raw = np.where(ranking.labels >= 0, method.scores_without_bonus(ranking), np.float32(-np.inf))
    scores = calibration(raw, counts[ranking.labels])
    blank = _is_prior(method, ranking)  # their scores are shares of the training documents already
    if blank.any():
        scores = np.where(blank[:, None], ranking.scores, scores)
    return replace(ranking, scores=scores)


def _is_prior(method: Method, ranking: Ranking) -> npt.NDArray[np.bool_]:
    """(n,) documents without any known feature. Their scores are the labels' shares of the training documents."""
    priors = getattr(method, "priors_", None)
    if priors is None:
        return np.zeros(len(ranking), dtype=bool)
    known = ranking.labels >= 0
    same: npt.NDArray[np.bool_] = ((ranking.scores == priors[ranking.labels]) | ~known).all(axis=1) & known.any(axis=1)
    return same
