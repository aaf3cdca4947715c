"""Labels shortlisted by their codes and scored by their classifiers: how LightDXML and Astec predict."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch

from zipfel.errors import ModelFileError
from zipfel.index.base import Index, unit_rows
from zipfel.index.build import build_index, load_index
from zipfel.kernels.topk import pair_products, topk
from zipfel.metrics import evaluate
from zipfel.nn.score import with_constant
from zipfel.quantize import pack_table, unpack_table
from zipfel.ranking import PAD, Ranking

Array = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]
Arrays = Mapping[str, npt.NDArray[Any]]
SHARES = (1.0, 0.98, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0)
"""Weights of one score beside another that are tried: LightDXML's beta, Astec's beta and gamma."""
_CUTS, _BLOCK = (1, 3, 5), 512
APPROXIMATE_FROM = 20_000
"""Labels from which on an approximate index finds several hundred of them sooner than a product with all codes:
`python -m benchmarks.papers.lightdxml search`."""
_RECALL = 0.9
"""Share of a shortlist that it must find. On made-up data with 52,000 labels, 0.79 cost 1.9 points of P@1."""


@dataclass(frozen=True)
class Scored:
    """Candidates (n, c) as rows of the tables, -1 for none, or None for all of them in order; and their two scores."""

    places: Ids | None
    logits: Array  # (n, c)
    cosines: Array  # (n, c)


class ShortlistScorer:
    """For points (n, d): the labels with the nearest codes, each with its classifier's logit and its cosine.

    classifiers, codes: (m, d), for the label ids `labels` (m,), rising. A classifier's last weight is its bias.
    mean: (d,), taken away from points and codes before the cosine: where neither is ever negative, all cosines are
    large and say little. head: rows that are in every shortlist. An index searches where there are more than
    `score_all` labels; with fewer, every label is scored.
    """

    def __init__(self, classifiers: Array, codes: Array, mean: Array, labels: Ids, head: Ids) -> None:
        self.classifiers, self.codes, self.mean, self.labels, self.head = classifiers, codes, mean, labels, head
        self.units = unit_rows(codes - mean)
        self.index: Index | None = None
        self._in_head = np.zeros(len(labels), dtype=bool)
        self._in_head[head] = True

    def indexed(self, score_all: int, kind: str, queries: Array, k: int, seed: int) -> ShortlistScorer:
        """Itself, with an index where that many labels need one, tuned on the points `queries`."""
        if len(self.labels) > score_all:
            asked = unit_rows(queries - self.mean)
            self.index = build_index(
                self.units, metric="inner", kind=kind, queries=asked, k=k, recall=_RECALL, seed=seed,
                exact_below=APPROXIMATE_FROM,
            )  # fmt: skip
        return self

    def shortlist(self, points: Array, k: int) -> Scored:
        """Both scores of the k nearest codes and the head, or of every label where there is no index."""
        units = unit_rows(points - self.mean)
        if self.index is None:
            return Scored(None, self.logits(points, None), units @ self.units.T)
        places, cosines = self.index.search(units, k)
        if len(self.head):
            places = np.where((places >= 0) & self._in_head[np.maximum(places, 0)], -1, places)  # they come again
            places = np.hstack([places, np.broadcast_to(self.head, (len(places), len(self.head)))])
            cosines = np.hstack([cosines, units @ self.units[self.head].T])
        return Scored(places, self.logits(points, places), cosines)

    def logits(self, points: Array, places: Ids | None) -> Array:
        """(n, c): the classifiers' alone; -inf where there is no candidate."""
        asked = with_constant(torch.from_numpy(points))
        if places is not None:
            return pair_products(asked.numpy(), self.classifiers, places)
        found: Array = (asked @ torch.from_numpy(self.classifiers).T).numpy()
        return found

    def state(self, precision: str) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
        arrays = {
            **pack_table("classifiers", self.classifiers, precision),
            **pack_table("codes", self.codes, precision),
            "labels": self.labels, "mean": self.mean, **({"head": self.head} if len(self.head) else {}),
        }  # fmt: skip
        if self.index is None:
            return arrays, {}
        index, facts = self.index.state()
        return arrays | {f"index.{name}": array for name, array in index.items() if name != "vectors"}, facts

    @classmethod
    def restored(
        cls, arrays: Arrays, facts: Mapping[str, Any], n_labels: int, dim: int, n_head: int
    ) -> ShortlistScorer:
        labels, mean = (_vector(arrays, name) for name in ("labels", "mean"))
        head = _vector(arrays, "head") if n_head else np.zeros(0, dtype=np.int64)
        check_label_ids(labels, n_labels)
        _check_head(head, len(labels), n_head)
        if mean.shape != (dim,):
            raise ModelFileError(f"the mean in the model has shape {mean.shape}, not {(dim,)}")
        classifiers, codes = (unpack_table(name, arrays, len(labels), dim) for name in ("classifiers", "codes"))
        scorer = cls(classifiers, codes, mean.astype(np.float32), labels.astype(np.int64), head.astype(np.int64))
        if facts:
            saved = {name.removeprefix("index."): array for name, array in arrays.items() if name.startswith("index.")}
            scorer.index = load_index({**saved, "vectors": scorer.units}, facts, n_ids=len(labels))
        return scorer


def fused(scored: Scored, beta: float) -> Array:
    """(n, c): beta s(logit) + (1 - beta) s(cosine), LightDXML's section F; -inf where there is no candidate."""
    scores: Array = np.float32(beta) * sigmoid(scored.logits)
    if beta < 1:
        scores += np.float32(1 - beta) * sigmoid(scored.cosines)
    if scored.places is not None:
        scores[scored.places < 0] = -np.inf
    return scores


def ranked(labels: Ids, places: npt.NDArray[np.integer] | None, scores: Array, k: int) -> Ranking:
    """The k best of each row of scores (n, c), as label ids."""
    if places is None:
        columns, best = topk(scores, k)
        return Ranking(np.where(columns >= 0, labels[np.maximum(columns, 0)], -1), best)
    return Ranking.from_dense(scores, k, np.where(places >= 0, labels[np.maximum(places, 0)], -1))


def best_share(
    rank: Callable[[Sequence[float]], Sequence[Ranking]], truth: sp.csr_matrix, given: float | None = None
) -> float:
    """The share of `SHARES` with the best P@1 + P@3 + P@5 on held-out points, the largest if several are equal; or the
    given share. rank: a ranking for each of some shares."""
    if given is not None:
        return given
    found = (evaluate(ranking, truth, ks=_CUTS) for ranking in rank(SHARES))
    return max((sum(one[f"P@{k}"] for k in _CUTS), share) for one, share in zip(found, SHARES, strict=True))[1]


def rank_blocks(X: sp.csr_matrix, rank: Callable[[sp.csr_matrix], Sequence[Ranking]]) -> list[Ranking]:
    """The rankings that `rank` makes of X (n, n_features), block by block; a row without features gets nothing."""
    blocks = [rank(X[a : a + _BLOCK]) for a in range(0, max(1, X.shape[0]), _BLOCK)]
    rankings, blank = [Ranking.concatenate(parts) for parts in zip(*blocks, strict=True)], np.diff(X.indptr) == 0
    for ranking in rankings:
        ranking.labels[blank], ranking.scores[blank] = PAD, -np.inf
    return rankings


def merged(one: Ids, other: Ids) -> Ids:
    """(n, a + b) candidates of both (n, a) and (n, b), each once: -1 in place of what a row has already."""
    both = np.hstack([one, other])
    order = np.argsort(both, axis=1, kind="stable")
    ranked = np.take_along_axis(both, order, axis=1)
    again = np.zeros(both.shape, dtype=bool)
    np.put_along_axis(again, order[:, 1:], ranked[:, 1:] == ranked[:, :-1], axis=1)
    return np.where(again, -1, both)


def _vector(arrays: Arrays, name: str) -> npt.NDArray[Any]:
    if name not in arrays or arrays[name].ndim != 1:
        raise ModelFileError(f"the model lacks the array {name!r}")
    return arrays[name]


def check_label_ids(labels: npt.NDArray[Any], n_labels: int) -> None:
    """They must be rising ids of some of n_labels labels: a model file may come from anywhere."""
    sound = (
        len(labels) > 0
        and labels.dtype.kind == "i"  # differences of unsigned ones are never negative
        and bool((np.diff(labels) > 0).all())
        and labels[0] >= 0
        and labels[-1] < n_labels
    )
    if not sound:
        raise ModelFileError("the label ids in the model are damaged")


def _check_head(head: npt.NDArray[Any], n_labels: int, n_head: int) -> None:
    sound = (
        head.dtype.kind == "i"
        and len(np.unique(head)) == len(head) == min(n_head, n_labels)
        and bool(((head >= 0) & (head < n_labels)).all())
    )
    if not sound:
        raise ModelFileError("the frequent labels in the model are damaged")


def sigmoid(values: Array) -> Array:
    with np.errstate(over="ignore"):
        found: Array = np.float32(1) / (np.float32(1) + np.exp(-values))
    return found
