"""Choosing, tuning, measuring and loading an index. faiss is imported only where it is used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfel.errors import ModelFileError, ParameterError
from zipfel.index.base import METRICS, Ids, Index, Vectors, checked
from zipfel.index.exact import ExactIndex

KINDS = ("auto", "exact", "hnsw", "ivfpq")
EXACT_BELOW = 50_000
"""Vectors up to which the blocked product answers a batch sooner than IVF-PQ does; see benchmarks/scale.py."""
_FEW = 100
"""Results up to which more candidates than are asked for are re-scored; in longer lists the order matters less."""


def build_index(
    vectors: Vectors,
    ids: Ids | None = None,
    *,
    metric: str = "cosine",
    kind: str = "auto",
    queries: Vectors | None = None,
    k: int = 100,
    recall: float = 0.95,
    seed: int = 0,
    exact_below: int = EXACT_BELOW,
) -> Index:
    """An index over (n, d) vectors.

    The effort of an approximate index is raised until it finds the share `recall` of the exact top k for a sample of
    `queries` (default: a sample of the vectors). `index.recall` has the recall that was reached. exact_below: vectors
    up to which `auto` is the exact index.
    """
    if kind not in KINDS:
        raise ParameterError(f"index kind must be one of {', '.join(KINDS)}, got {kind!r}")
    if kind == "exact" or (kind == "auto" and len(vectors) <= exact_below) or len(vectors) < 64:
        return ExactIndex(vectors, ids, metric=metric)
    from zipfel.index.ann import HnswIndex, IvfPqIndex

    index = (
        HnswIndex(vectors, ids, metric=metric)
        if kind == "hnsw"
        else IvfPqIndex(
            vectors, ids, metric=metric, probes=16 if recall > 0.8 else 4, rescore=4 if k <= _FEW else 1, seed=seed
        )
    )
    asked = index.vectors if queries is None else queries
    sample = asked[np.random.default_rng([seed, 402]).permutation(len(asked))[:200]]
    _tune(index, sample, min(k, len(index)), recall)
    return index


def _tune(index: Any, queries: Vectors, k: int, target: float) -> None:
    """Doubles the effort of an approximate index until it reaches the target, up to a limit."""
    truth, _ = ExactIndex(index.vectors, metric="inner").search(index._scaled(queries), k)
    for _ in range(6):
        index.recall, index.recall_at = measured_recall(index, queries, truth), k
        if index.recall >= target:
            return
        if index.kind == "hnsw":
            index.effort *= 2
        else:
            index.probes *= 2
            index.rescore = min(2 * index.rescore, 16 if k <= _FEW else 2)
    index.recall = measured_recall(index, queries, truth)


def measured_recall(index: Index, queries: Vectors, truth: Ids) -> float:
    """Share of the true places (n, k) among the index's answers."""
    found, _ = index.search(queries, truth.shape[1])
    expected = index.ids[truth]
    return float(np.mean([np.isin(t, f).mean() for t, f in zip(expected, found, strict=True)])) if len(truth) else 1.0


def load_index(arrays: Mapping[str, npt.NDArray[Any]], facts: Mapping[str, Any], *, n_ids: int | None = None) -> Index:
    """The counterpart of `Index.state`; a damaged one is a ModelFileError. n_ids: ids lie below."""
    vectors, ids = checked(arrays, "vectors", "f", 2), checked(arrays, "ids", "i", 1)
    kind, metric = facts.get("kind"), facts.get("metric")
    if not vectors.shape[1] or not np.isfinite(vectors).all():
        raise ModelFileError("the vectors of the saved index hold nothing, NaN or inf")
    if kind not in KINDS[1:] or metric not in METRICS or len(ids) != len(vectors) or np.any(ids[1:] <= ids[:-1]):
        raise ModelFileError("the saved index is damaged; save the model again")
    if n_ids is not None and len(ids) and not 0 <= ids[0] <= ids[-1] < n_ids:
        raise ModelFileError(f"the saved index has ids that are not below {n_ids}; save the model again")
    try:
        if kind == "exact":
            index: Index = ExactIndex(vectors, ids, metric=metric)
        else:
            from zipfel.index.ann import HnswIndex, IvfPqIndex

            index = (HnswIndex if kind == "hnsw" else IvfPqIndex).restored(arrays, facts)
        index.recall, index.recall_at = float(facts["recall"]), int(facts["recall_at"])
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"the saved index is damaged ({error}); save the model again") from None
    return index
