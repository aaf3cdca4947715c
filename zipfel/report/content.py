"""What a report says about a model, as plain values: computed once, shown by `page`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfel.classifier import Zipfel
from zipfel.data import BUCKETS, Dataset, buckets
from zipfel.data.buckets import HEAD_ABOVE, TAIL_UP_TO
from zipfel.errors import DataError, ParameterError, ZipfelError
from zipfel.estimator.inputs import aligned
from zipfel.explanation import Explained
from zipfel.metrics import evaluate
from zipfel.metrics.per_label import is_hit, label_scores
from zipfel.ranking import Ranking
from zipfel.report.training import Training, training_of

_BINS = 10
_DOCUMENTS, _ROWS = 8, 5000
"""Worst documents that are shown, and labels of the table at most: the most frequent ones in the test data."""


@dataclass(frozen=True)
class Reliability:
    """Of each bin of equal width by probability: mean probability, share of true labels, labels."""

    mean: Sequence[float]
    share: Sequence[float]
    sizes: Sequence[int]


@dataclass(frozen=True)
class WorstDocument:
    """A document whose true labels were ranked badly; explained, where the method can explain."""

    name: str
    text: str
    true: Sequence[str]
    predicted: Sequence[tuple[str, float]]
    explained: Explained | None


@dataclass(frozen=True)
class Content:
    """All that the page shows. labels: rows of name, bucket, train, test, precision, recall, F1, missed, wrong; groups:
    rows of head, torso and tail: name, labels, share of the labels, share of the (document, label) pairs."""

    facts: Mapping[str, str]
    scores: Mapping[str, float]
    reliability: Reliability | None
    labels: Sequence[Sequence[Any]]
    n_labels: int
    worst: Sequence[WorstDocument]
    training: Training
    frequencies: Sequence[tuple[float, float]]
    groups: Sequence[Sequence[str]]
    k: int


def content_of(model: Zipfel, test: Dataset, *, k: int = 5) -> Content:
    """Predicts the test data once and gathers everything that a report shows."""
    if test.n_points == 0:
        raise DataError("the test data has no rows: a report needs at least one document with labels")
    if k < 1:
        raise ParameterError(f"k must be at least 1, got {k}")
    documents = test.texts if test.X is None else test.X
    ranking = model.predict(documents, max(k, 5))
    known = aligned(test, model.label_names_, model.n_labels_)
    truth = known.Y
    counts = model.label_counts_
    scores = evaluate(
        ranking, truth, train_counts=counts, n_train=int(model.training_["n_points"]), ks=tuple(sorted({1, 3, 5, k}))
    )
    names = known.label_names or [str(i) for i in range(known.n_labels)]
    hits = is_hit(ranking.labels[:, :k], truth)
    return Content(
        facts=_facts(model, test),
        scores=scores,
        reliability=_reliability(ranking, hits, k),
        labels=_label_rows(ranking, truth, counts, names, k),
        n_labels=int((np.bincount(truth.indices, minlength=1) > 0).sum()),
        worst=_worst(model, test, ranking, truth, hits, names),
        training=training_of(model.training_, model.method_.state().facts.get("plan", [])),
        frequencies=_frequencies(counts),
        groups=_groups(counts),
        k=k,
    )


def _facts(model: Zipfel, test: Dataset) -> dict[str, str]:
    training = model.training_
    return {
        "method": model.method + (f", preset {model.preset}" if model.preset else ""),
        "trained on": f"{int(training['n_points']):,} documents, {model.n_labels_:,} labels, "
        f"{model.n_features_in_:,} features",
        "training time": f"{float(training['seconds']):.1f} s, {training['threads']} threads, seed {training['seed']}",
        "tested on": f"{test.n_points:,} documents, {test.Y.nnz / max(1, test.n_points):.1f} labels a document",
    }


def _reliability(ranking: Ranking, hits: npt.NDArray[np.bool_], k: int) -> Reliability | None:
    """None if the scores are no probabilities."""
    known = ranking.labels[:, :k] >= 0
    scores, hits = ranking.scores[:, :k][known], hits[known]
    if not len(scores) or scores.min() < 0 or scores.max() > 1:
        return None
    bins = np.minimum((scores * _BINS).astype(np.int64), _BINS - 1)
    sizes = np.bincount(bins, minlength=_BINS)
    kept = sizes > 0
    mean = np.bincount(bins, scores, _BINS)[kept] / sizes[kept]
    share = np.bincount(bins, hits, _BINS)[kept] / sizes[kept]
    return Reliability(mean.tolist(), share.tolist(), sizes[kept].tolist())


def _label_rows(
    ranking: Ranking, truth: Any, counts: npt.NDArray[np.int64], names: Sequence[str], k: int
) -> list[list[Any]]:
    found = label_scores(ranking, truth, k)
    seen = np.pad(counts, (0, max(0, len(found.support) - len(counts))))
    bucket = buckets(seen)
    order = np.lexsort((-found.predicted, -found.support))
    shown = [int(i) for i in order[:_ROWS] if found.support[i] or found.predicted[i]]
    return [
        [
            names[i], BUCKETS[bucket[i]], int(seen[i]), int(found.support[i]),
            round(float(found.precision[i]), 3), round(float(found.recall[i]), 3), round(float(found.f1[i]), 3),
            int(found.missed[i]), int(found.wrong[i]),
        ]
        for i in shown
    ]  # fmt: skip


def _worst(
    model: Zipfel, test: Dataset, ranking: Ranking, truth: Any, hits: npt.NDArray[np.bool_], names: Sequence[str]
) -> list[WorstDocument]:
    """Documents with the lowest recall; of equal ones those with the most labels."""
    n_true = np.diff(truth.indptr)
    recall = hits.sum(axis=1) / np.maximum(n_true, 1)
    asked = np.flatnonzero(n_true)
    order = asked[np.lexsort((-n_true[asked], recall[asked]))][:_DOCUMENTS]
    return [_document(model, test, ranking, truth, int(row), names) for row in order]


def _document(
    model: Zipfel, test: Dataset, ranking: Ranking, truth: Any, row: int, names: Sequence[str]
) -> WorstDocument:
    text = test.texts[row] if test.texts is not None else ""
    given = [
        (names[label], float(score))
        for label, score in zip(ranking.labels[row].tolist(), ranking.scores[row].tolist(), strict=True)
        if label >= 0
    ]
    true = [names[label] for label in truth.indices[truth.indptr[row] : truth.indptr[row + 1]]]
    explained = None
    if text or test.X is not None:
        try:
            explained = model.explain(text if test.X is None else test.X[row], k=1)
        except ZipfelError:  # not every method explains
            explained = None
    name = test.ids[row] if test.ids is not None else f"row {row}"
    return WorstDocument(name, text, true, given[:5], explained)


def _groups(counts: npt.NDArray[np.int64]) -> list[list[str]]:
    place = buckets(counts)
    labels, pairs = np.bincount(place, minlength=len(BUCKETS)), np.bincount(place, counts, len(BUCKETS))
    shares = 100 * labels / max(1, labels.sum()), 100 * pairs / max(1.0, pairs.sum())
    names = (f"head (over {HEAD_ABOVE} documents)", "torso", f"tail (up to {TAIL_UP_TO})")
    rows = zip(names, labels, *shares, strict=True)
    return [[name, f"{n:,}", f"{share:.1f} %", f"{pair_share:.1f} %"] for name, n, share, pair_share in rows]


def _frequencies(counts: npt.NDArray[np.int64]) -> list[tuple[float, float]]:
    """(rank, training documents) of labels, at a hundred ranks that are evenly spread on a logarithmic axis."""
    falling = np.sort(counts[counts > 0])[::-1]
    if not len(falling):
        return []
    ranks = np.unique(np.geomspace(1, len(falling), 100).astype(np.int64))
    return [(float(rank), float(falling[rank - 1])) for rank in ranks]
