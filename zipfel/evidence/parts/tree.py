"""A label tree: classifiers of its branches learn from the documents of many rare labels together.

The equations are in `linear/tree.py`. The labels are split by the codes of their points, which the regression made.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from zipfel.evidence.part import Array, Asked, Codes, Fold, More, Part
from zipfel.evidence.parts.space import SpacePart
from zipfel.evidence.training_set import TrainingSet
from zipfel.linear import LinearClassifiers, LinearConfig, Problems
from zipfel.linear.tree import OPINIONS, LabelTree, TreeClassifiers, TreeConfig
from zipfel.state import State
from zipfel.system.threads import blas_threads

CODES = ("regression", "label_sets")
"""Parts whose codes labels may be split by. The first that is fitted is used."""


@dataclass(frozen=True)
class _Learnt:
    problems: Problems
    rows: Array


@dataclass(frozen=True)
class TreePart(Part):
    model: TreeClassifiers
    learnt: _Learnt | None = field(default=None, repr=False)

    name = "tree"
    title = "label tree: classifiers of its branches and of labels"
    Config = TreeConfig

    @property
    def columns(self) -> tuple[str, ...]:
        return OPINIONS

    @classmethod
    def fit(cls, config: TreeConfig, fold: Fold, before: TreePart | None) -> TreePart:
        points, rows, run = fold.learnt_from, fold.rows, fold.run
        labels = np.unique(points.Y.indices)
        with blas_threads():
            means = _label_means(points.Y[:, labels], _codes(fold)[rows])
            tree = before.model.tree if before else None
            if tree is None or 2 * (tree.leaf >= 0).sum() < len(labels):  # most labels are new: a tree of their own
                before, tree = None, LabelTree.grow(points.n_labels, labels, means, config.leaf, run.rng(25))
            else:
                tree = tree.with_labels(labels, means)
        problems = tree.problems(points.Y)
        if before is not None and before.learnt is not None:
            problems.start_from(before.learnt.problems, np.searchsorted(rows, before.learnt.rows))
        own = LinearConfig(damping=1.0, cost=config.cost, threshold=config.threshold, tolerance=config.tolerance)
        model = LinearClassifiers(own).fit(points.X, problems, seed=run.seed, threads=run.threads)
        return cls(TreeClassifiers(tree, model), None if fold.is_final else _Learnt(problems.without_zeros(), rows))

    def opinions(self, asked: Asked, labels: Array) -> list[Codes]:
        return self.model.opinions(asked.fitted_rows, labels)

    def joined(self, more: More) -> TreePart:
        return TreePart(self.model.widened(more.training.n_labels))

    def state(self) -> State:
        return State(self.model.state())

    @classmethod
    def restored(cls, config: Any, state: State, training: TrainingSet) -> TreePart:  # noqa: ARG003 - it is in the state
        return cls(TreeClassifiers.restored(state.arrays, training.n_fitted_features, training.n_labels))


def _codes(fold: Fold) -> Codes:
    """(n, dim) of all points."""
    part = next(fold.made[name] for name in CODES if name in fold.made)
    assert isinstance(part, SpacePart)
    return part.point_codes


def _label_means(Y: sp.csr_matrix, codes: Codes) -> Codes:
    """(n_labels, dim) means of the codes (n, dim) of each label's points."""
    sums = np.asarray(Y.T @ codes, dtype=np.float32)
    return sums / np.maximum(np.bincount(Y.indices, minlength=Y.shape[1]), 1).astype(np.float32)[:, None]
