"""How features are damped and how much classifiers may fit: the best of a few settings, tried on a sample of train."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.metrics import evaluate
from zipfel.ranker._votes import cast_votes
from zipfel.ranker.problems import Problems, with_strangers
from zipfel.ranker.sparse import RankerConfig, SparseRanker, damped
from zipfel.ranker.words import WordMemory, vote_weights
from zipfel.ranking import Ranking

Array = npt.NDArray[Any]
_LEARN, _ASK = 5000, 1500
"""Points of the sample: that classifiers learn from, and that they are asked about."""
_NEIGHBORS, _SHORTLIST, _STRANGERS = 30, 50, 10


class Setting(NamedTuple):
    damping: float
    cost: float


SETTINGS = (Setting(0.6, 0.3), Setting(0.8, 1.0), Setting(1.0, 1.0))
"""Short texts want their rare words damped and little trust; long ones neither. The first wins a draw."""


def choose_setting(
    X: sp.csr_matrix, Y: sp.csr_matrix, rng: np.random.Generator, ranker: RankerConfig, settings: tuple[Setting, ...]
) -> Setting:
    """The setting with which classifiers rank best (mean of P@1, P@3 and P@5) on points that they have not seen."""
    if len(settings) == 1:
        return settings[0]
    order = rng.permutation(X.shape[0])
    asked, known = np.split(order[: _LEARN + _ASK], [min(_ASK, X.shape[0] // 5)])
    if len(asked) == 0:
        return settings[0]
    quality = [_quality(X, Y, known, asked, rng, ranker, setting) for setting in settings]
    return settings[int(np.argmax(quality))]


def _quality(
    X: sp.csr_matrix,
    Y: sp.csr_matrix,
    known: Array,
    asked: Array,
    rng: np.random.Generator,
    ranker: RankerConfig,
    setting: Setting,
) -> float:
    learnt, asks, labels = damped(X[known], setting.damping), damped(X[asked], setting.damping), Y[known]
    memory = WordMemory.build(learnt, np.diff(labels.indptr) > 0)
    own = _shortlist(*memory.search_own(learnt, _NEIGHBORS), labels)
    problems = Problems.build(labels, with_strangers(own.astype(np.int32), Y.shape[1], _STRANGERS, rng))
    classifiers = SparseRanker(ranker.replace(damping=1.0, cost=setting.cost)).fit(learnt, problems)
    found = _shortlist(*memory.search(asks, _NEIGHBORS), labels)
    ranking = Ranking.from_dense(classifiers.score(asks, found), 5, found)
    values = evaluate(ranking, Y[asked], ks=(1, 3, 5))
    return float(np.mean([values[f"P@{k}"] for k in (1, 3, 5)]))


def _shortlist(ids: Array, cosines: Array, Y: sp.csr_matrix) -> Array:
    return cast_votes(ids, vote_weights(cosines), Y, _SHORTLIST)[0]
