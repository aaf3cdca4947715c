"""How features are damped and how much classifiers may fit: the best of a few settings, tried on a sample of train."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.data.splitting import held_out_runs
from zipfel.ranker._votes import cast_votes
from zipfel.ranker.blend import is_true
from zipfel.ranker.problems import Problems, with_strangers
from zipfel.ranker.sparse import RankerConfig, SparseRanker, damped
from zipfel.ranker.words import WordMemory, weights_by_cosine
from zipfel.ranking import Ranking
from zipfel.threads import at_once

Array = npt.NDArray[Any]
_LEARN, _ASK = 1500, 1500
"""Points of the sample: that classifiers learn from, and that they are asked about."""
_COST = 0.5
"""Of all trials: a small sample wants a higher cost than the whole."""
_NEIGHBORS, _SHORTLIST, _STRANGERS = 30, 50, 10


class Setting(NamedTuple):
    damping: float
    cost: float


SETTINGS = (Setting(0.6, 0.3), Setting(0.8, 0.6), Setting(1.0, 1.0))
"""Short texts want their rare words damped and little trust; long ones neither."""


def choose_setting(
    X: sp.csr_matrix, Y: sp.csr_matrix, rng: np.random.Generator, ranker: RankerConfig, settings: tuple[Setting, ...]
) -> Setting:
    """The setting with which classifiers rank best (mean of P@1, P@3 and P@5) on points that they have not seen; the
    first, unless the last is better by three standard errors: then the best may also lie between the two."""
    if len(settings) == 1:
        return settings[0]
    asked = held_out_runs(X.shape[0], min(_ASK, X.shape[0] // 5), rng)
    if len(asked) == 0:
        return settings[0]
    known = rng.permutation(np.setdiff1d(np.arange(X.shape[0]), asked))[:_LEARN]
    seed = int(rng.integers(2**31))

    def quality(setting: Setting) -> npt.NDArray[np.float64]:
        return _precision(X, Y, known, asked, np.random.default_rng(seed), ranker, setting)

    first, *between, last = settings
    found = dict(zip((first, last), at_once(lambda: quality(first), lambda: quality(last)), strict=True))
    gain = found[last] - found[first]
    if gain.mean() <= 3 * gain.std() / np.sqrt(len(gain)):
        return first
    found |= dict(zip(between, at_once(*(partial(quality, setting) for setting in between)), strict=True))
    return max(found, key=lambda setting: found[setting].mean())


def _precision(
    X: sp.csr_matrix,
    Y: sp.csr_matrix,
    known: Array,
    asked: Array,
    rng: np.random.Generator,
    ranker: RankerConfig,
    setting: Setting,
) -> npt.NDArray[np.float64]:
    """(n,) the mean of P@1, P@3 and P@5 of each row that is asked about."""
    learnt, asks, labels = damped(X[known], setting.damping), damped(X[asked], setting.damping), Y[known]
    memory = WordMemory.build(learnt, np.diff(labels.indptr) > 0)
    own = _shortlist(*memory.search_own(learnt, _NEIGHBORS), labels)
    problems = Problems.build(labels, with_strangers(own.astype(np.int32), Y.shape[1], _STRANGERS, rng))
    classifiers = SparseRanker(ranker.replace(damping=1.0, cost=ranker.cost or _COST)).fit(learnt, problems)
    found = _shortlist(*memory.search(asks, _NEIGHBORS), labels)
    best = Ranking.from_dense(classifiers.score(asks, found), 5, found).labels
    hits = is_true(best, Y[asked])
    return np.asarray(np.mean([hits[:, :k].mean(axis=1) for k in (1, 3, 5)], axis=0), dtype=np.float64)


def _shortlist(ids: Array, cosines: Array, Y: sp.csr_matrix) -> Array:
    return cast_votes(ids, weights_by_cosine(cosines), Y, _SHORTLIST)[0]
