"""What holds for every part, with a data set whose answer is known."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.contract import N_FEATURES, N_LABELS, OWN, known, round_trip
from zipfel.errors import ModelFileError
from zipfel.evidence.fitting import fit_parts
from zipfel.evidence.part import Asked, Fold, More, Near, Part
from zipfel.evidence.rules import Tried, rule_of
from zipfel.evidence.shape import Shape
from zipfel.evidence.training_set import TrainingSet, new_labels
from zipfel.methods.auto import ALL_PARTS, _resolved
from zipfel.methods.auto_config import AutoConfig
from zipfel.points import Points, Sources, Vectors
from zipfel.run import Run
from zipfel.state import State

SMALL = {"regression.landmarks": 50, "tree.leaf": 2, "label_sets.dim": 32, "label_sets.epochs": 20}
CONFIG = AutoConfig.from_dict({**SMALL, "network.hidden": 32, "network.epochs": 40})
N_NEAR = 20


@cache
def first_fold() -> Fold:
    """Two thirds of the known data may be learnt from."""
    points = known().train
    training = TrainingSet.of(points)
    near = Near(*training.words.search_own(points.X, N_NEAR))
    seen = np.arange(points.n_points) % 3 > 0
    points = replace(points, texts=texts_of(points.X), vectors=vectors_of(points.X))
    names = [(label, f"word{label * OWN}", True) for label in range(N_LABELS)]
    shape = Shape.of(points, int((~seen).sum()), len(names))
    run = Run(seed=1, threads=1, label_texts=names, label_vectors=_DIRECTIONS[: N_LABELS * OWN : OWN])
    return Fold(points, seen, near, training, shape, run, is_final=False)


_DIRECTIONS = np.random.default_rng(8).normal(size=(N_FEATURES, 24)).astype(np.float32)


def vectors_of(X: sp.csr_matrix) -> Vectors:
    """Embeddings: the sum of a direction for each feature."""
    return np.asarray(X @ _DIRECTIONS, dtype=np.float32)


def sources_of(X: sp.csr_matrix) -> Sources:
    return Sources(texts_of(X), vectors_of(X))


def texts_of(X: sp.csr_matrix) -> list[str]:
    """A word for each feature of a row; the first feature of a label is its name."""
    return [" ".join(f"word{j}" for j in row.indices) for row in X]


def final_fold() -> Fold:
    fold = first_fold()
    return replace(fold, seen=np.ones(fold.points.n_points, dtype=bool), is_final=True)


def fitted(name: str, fold: Fold, before: dict[str, Part] | None = None) -> dict[str, Part]:
    """The part, and what it needs."""
    plan = [Tried(needed, tried=True, kept=True) for needed in (*rule_of(name).after, name)]
    config = _resolved(CONFIG, fold.shape)
    return fit_parts(plan, ALL_PARTS, config, fold, dict(before or {}))


@cache
def final(name: str) -> Part:
    return fitted(name, final_fold(), fitted(name, first_fold()))[name]


def occurring() -> Any:
    """Labels that some training point has."""
    return np.flatnonzero(first_fold().training.counts)


def asked(X: sp.csr_matrix) -> Asked:
    return Asked(X, first_fold().training, N_NEAR, sources=sources_of(X))


def candidates(n: int) -> Any:
    """All labels, and a pad."""
    return np.tile(np.append(np.arange(N_LABELS), -1), (n, 1))


def told(part: Part, X: sp.csr_matrix) -> Any:
    """(n, c, f): votes by kind, then opinions."""
    labels, question = candidates(X.shape[0]), asked(X)
    found = list(part.opinions(question, labels))
    voters = part.neighbours(question)
    if voters is not None:
        Y = question.training.Y.toarray()
        for s in range(voters.weights.shape[2]):
            votes = np.zeros(labels.shape, dtype=np.float32)
            for i, (ids, weights) in enumerate(zip(voters.ids, voters.weights[:, :, s], strict=True)):
                votes[i, :N_LABELS] = weights[ids >= 0] @ Y[ids[ids >= 0]]
            found.append(votes)
    return np.stack(found, axis=2)


class PartContract:
    """Inherited by test_parts.py, whose fixture `name` goes through all parts."""

    def test_its_opinions_and_votes_are_numbers_for_every_label(self, name: str) -> None:
        part, X = final(name), known().test.X[:7]
        found = told(part, X)
        assert found.shape == (7, N_LABELS + 1, len(part.columns) + len(part.votes))
        assert np.isfinite(found[:, occurring()]).all()
        assert not np.isinf(found).any()  # known or NaN

    def test_it_tells_true_labels_from_others(self, name: str) -> None:
        test = known().test
        evidence = told(final(name), test.X)[:, :N_LABELS]
        truth = test.Y.toarray() > 0
        for column in range(evidence.shape[2]):
            assert np.nanmean(evidence[:, :, column][truth]) > np.nanmean(evidence[:, :, column][~truth])

    def test_batch_equals_single_rows(self, name: str) -> None:
        part, X = final(name), known().test.X[:6]
        single = np.concatenate([told(part, X[i]) for i in range(6)])
        np.testing.assert_allclose(told(part, X), single, rtol=1e-3, atol=1e-5)

    def test_same_seed_same_part(self, name: str) -> None:
        again = fitted(name, final_fold(), fitted(name, first_fold()))[name]
        np.testing.assert_array_equal(told(again, known().test.X[:6]), told(final(name), known().test.X[:6]))

    def test_the_first_fit_does_not_learn_from_hidden_points(self, name: str) -> None:
        fold = first_fold()
        Y = fold.points.Y.copy()
        hidden = np.repeat(~fold.seen, np.diff(Y.indptr))
        Y.indices[hidden] = (Y.indices[hidden] + 1) % N_LABELS  # other labels for the points that are hidden
        Y.sort_indices()
        training = TrainingSet(fold.training.words, Y, fold.training.n_fitted_features)
        other = replace(fold, points=replace(fold.points, Y=Y), training=training)
        one, two = fitted(name, fold)[name], fitted(name, other)[name]
        X = fold.points.X[np.flatnonzero(~fold.seen)]
        labels = candidates(X.shape[0])
        near = fold.near_among_seen(np.flatnonzero(~fold.seen))
        rows, own = np.flatnonzero(~fold.seen), sources_of(X)
        questions = [Asked(X, t, N_NEAR, sources=own, near=near, rows=rows) for t in (fold.training, training)]
        for a, b in zip(one.opinions(questions[0], labels), two.opinions(questions[1], labels), strict=True):
            np.testing.assert_allclose(a[:, :N_LABELS], b[:, :N_LABELS], rtol=1e-5, atol=1e-6)

    def test_state_round_trip(self, name: str) -> None:
        part, X = final(name), known().test.X
        config = getattr(_resolved(CONFIG, first_fold().shape), name, None)
        again = ALL_PARTS[name].restored(config, round_trip(part.state()), first_fold().training)
        np.testing.assert_array_equal(told(again, X), told(part, X))

    def test_a_cut_or_missing_array_is_refused(self, name: str) -> None:
        state = round_trip(final(name).state())
        config = getattr(_resolved(CONFIG, first_fold().shape), name, None)
        for key, array in state.arrays.items():
            rest = {other: found for other, found in state.arrays.items() if other != key}
            for arrays in (rest, {**rest, key: array[: len(array) // 2]} if array.ndim else rest):
                with pytest.raises((ModelFileError, ValueError)):
                    ALL_PARTS[name].restored(config, State(arrays, state.facts), first_fold().training)

    def test_more_points_with_a_new_label(self, name: str) -> None:
        part, fold = final(name), first_fold()
        X = fold.points.X[:4]
        Y = sp.csr_matrix((np.ones(4, np.float32), (np.arange(4), np.full(4, N_LABELS))), shape=(4, N_LABELS + 2))
        training = fold.training.joined(Points(X, Y))
        new = new_labels(training.Y, fold.training.n_points)
        joined = part.joined(More(X, training, new, N_NEAR, vectors_of(X)))
        X = known().test.X[:3]
        question = Asked(X, training, N_NEAR, sources=sources_of(X))
        labels = np.tile(np.append(np.arange(N_LABELS + 1), -1), (3, 1))
        for opinion in joined.opinions(question, labels):
            assert np.isfinite(opinion[:, occurring()]).all()
            assert not np.isinf(opinion[:, N_LABELS]).any()  # known or NaN
        voters = joined.neighbours(question)
        assert voters is None or voters.ids.max() < training.n_points

    def test_it_leaves_the_part_before_as_it_was(self, name: str) -> None:
        before = fitted(name, first_fold())
        X = known().test.X[:5]
        first = told(before[name], X)
        fitted(name, final_fold(), before)
        np.testing.assert_array_equal(told(before[name], X), first)
