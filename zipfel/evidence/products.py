"""Products of two kinds of evidence. If a classifier and a neighbour agree on a label, that may count more, or less,
than the sum of both.

    z = (e - mean) / spread, cut at -4 and 4       evidence of a candidate; mean, spread: of the best of documents
    q(l) = sum_{i <= j} M_ij z_i z_j + sum_i M_i z_i + M_0       added to the blend's score of label l
    M = (H + ridge I)^-1 g                         one step of Newton's from the blend on, with slope g and curvature H
                                                   of a loss; the ridge grows with the number of products

The loss is the blend's, of each candidate by itself, and besides one of a document's order: for each true label l of it

    log(1 + sum_n exp(s(n) - s(l)))                n: the document's other candidates that are wrong; s: their scores

Products are learnt from, and added to, a document's best candidates by the blend; the others stay behind these. Unlike
in a blend, evidence may count against a label here; a strong ridge keeps the products small.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from numba import njit

from zipfel.errors import ModelFileError
from zipfel.evidence import rules
from zipfel.system.threads import over_blocks

Array = npt.NDArray[Any]
FRONT = 20
"""Best candidates of a document that products are learnt from, and added to."""
_RIDGE = 8.0
"""Per product."""
_CUT = np.float32(4.0)
_BLOCK = 1024
_MOST = 1000
"""Documents that are summed at a time, and kinds of evidence that a model file may have."""


@dataclass(frozen=True)
class Products:
    """mean, spread: (f,); form: (f + 1, f + 1), the upper half of M, the last column for z_i alone; all float32."""

    mean: Array
    spread: Array
    form: Array

    @classmethod
    def fit(cls, scores: Array, evidence: Array, hits: Array) -> Products | None:
        """scores: (n, c) of a blend, -inf where there is no candidate; evidence: (n, c, f); hits: (n, c) which
        candidates are true. None of too few documents, or without candidates."""
        if len(scores) < rules.PRODUCTS_FROM:
            return None
        width = min(FRONT, scores.shape[1])
        front = np.argsort(-scores, axis=1, kind="stable")[:, :width]
        scores, hits = (np.take_along_axis(part, front, axis=1) for part in (scores, hits))
        best = np.take_along_axis(evidence, front[:, :, None], axis=1)
        known = np.isfinite(scores)
        if not known.any():
            return None
        mean, spread = best[known].mean(axis=0), best[known].std(axis=0)
        spread = np.where(spread > 1e-6, spread, 1).astype(np.float32)
        pairs = np.triu_indices(evidence.shape[2] + 1)
        slope, curvature = np.zeros(len(pairs[0])), np.zeros((len(pairs[0]), len(pairs[0])))
        for a in range(0, len(scores), _BLOCK):
            there = known[a : a + _BLOCK]
            z = np.clip((best[a : a + _BLOCK][there] - mean) / spread, -_CUT, _CUT)
            z = np.concatenate([z.T, np.ones((1, len(z)), dtype=np.float32)])  # (f + 1, p)
            columns = z[pairs[0]] * z[pairs[1]]  # (products, p)
            pull, weight, rivals = _slopes(scores[a : a + _BLOCK], hits[a : a + _BLOCK])
            slope += columns @ pull
            means = np.ascontiguousarray((rivals @ columns.T).T)  # (products, true pairs)
            columns *= np.sqrt(weight)
            curvature += columns @ columns.T  # of one array with itself: numpy computes but half of it
            curvature -= means @ means.T
        ridge = np.full(len(slope), _RIDGE * len(slope))
        ridge[-1] = 1e-3  # the last is the constant
        form = np.zeros((evidence.shape[2] + 1,) * 2, dtype=np.float32)
        form[pairs] = np.linalg.solve(curvature + np.diag(ridge), slope)
        return cls(mean.astype(np.float32), spread, form)

    def added(self, scores: Array, evidence: Array) -> npt.NDArray[np.float32]:
        """(n, c) what they add to scores (n, c), -inf where there is no candidate, of each row's best; to the others
        the least of that where it is below nothing, so that they stay behind."""
        out = np.zeros(scores.shape, dtype=np.float32)
        numbers = self.mean, self.spread, self.form
        given = scores.astype(np.float32, copy=False), np.ascontiguousarray(evidence, dtype=np.float32)
        over_blocks(lambda a, b: _add(a, b, *given, *numbers, FRONT, _CUT, out), len(scores))
        return out

    def facts(self) -> dict[str, Any]:
        return {"mean": self.mean.tolist(), "spread": self.spread.tolist(), "form": self.form.tolist()}

    @classmethod
    def from_facts(cls, facts: Any, n_kinds: int) -> Products:
        """The counterpart of `facts`; n_kinds: of evidence."""
        shapes = {"mean": (n_kinds,), "spread": (n_kinds,), "form": (n_kinds + 1, n_kinds + 1)}
        if not isinstance(facts, Mapping) or n_kinds > _MOST:
            raise ModelFileError("the products of evidence in the model are damaged")
        try:
            found = {name: np.asarray(facts[name], dtype=np.float32) for name in shapes}
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(f"the products of evidence in the model are damaged: {error}") from None
        for name, shape in shapes.items():
            if found[name].shape != shape or not np.isfinite(found[name]).all():
                raise ModelFileError(f"the products of evidence in the model are damaged: {name}")
        if not (found["spread"] > 0).all():
            raise ModelFileError("the products of evidence in the model are damaged: a spread of nothing")
        return cls(**found)


def _slopes(scores: Array, hits: Array) -> tuple[Array, Array, sp.csr_matrix]:
    """Of both losses by the scores (n, c) of candidates, of which p are real: where each would be pulled (p,), and what
    their curvature, diag(weight) - rivals' rivals, consists of: weight (p,), and for each of the q that are true its
    share and those of its rivals in the sum of theirs, (q, p)."""
    known = np.isfinite(scores)
    chances = 1 / (1 + np.exp(-np.clip(np.where(known, scores, 0), -30, 30)))
    top = np.maximum(scores.max(axis=1, keepdims=True), np.finfo(np.float32).min)  # of documents without candidates
    sizes = np.where(known, np.exp(np.maximum(scores - top, -30)), 0)  # as if the best had a score of 0
    wrong, (rows, places) = np.where(hits, 0, sizes), np.nonzero(hits & known)
    own = sizes[rows, places]
    inverse = 1 / (own + wrong.sum(axis=1)[rows])
    drawn = wrong * np.bincount(rows, inverse, minlength=len(scores))[:, None]
    shares = wrong[rows] * inverse[:, None]  # (q, c)
    drawn[rows, places] = shares[np.arange(len(rows)), places] = own * inverse
    at = np.cumsum(known).reshape(known.shape) - 1
    real = known[rows]
    ends = np.append(0, np.cumsum(real.sum(axis=1)))
    rivals = sp.csr_matrix((shares[real].astype(np.float32), at[rows][real], ends), (len(rows), int(known.sum())))
    pull, weight = 2 * hits - chances - drawn, chances * (1 - chances) + drawn
    return pull[known].astype(np.float32), weight[known].astype(np.float32), rivals


@njit(cache=True, nogil=True)
def _add(
    start: int,
    stop: int,
    scores: Array,
    evidence: Array,
    mean: Array,
    spread: Array,
    form: Array,
    front: int,
    cut: float,
    out: Array,
) -> None:
    """Rows start..stop of `Products.added`; out is zero before."""
    n_kinds = evidence.shape[2]
    z = np.ones(n_kinds + 1, dtype=np.float32)
    best = np.empty(front, dtype=np.int64)
    for i in range(start, stop):
        n = 0
        for c in range(scores.shape[1]):  # the best, by insertion; of equal ones the first
            if scores[i, c] == -np.inf:
                continue
            place = n if n < front else front - 1
            if n == front and scores[i, c] <= scores[i, best[place]]:
                continue
            while place > 0 and scores[i, c] > scores[i, best[place - 1]]:
                best[place] = best[place - 1]
                place -= 1
            best[place] = c
            n = min(n + 1, front)
        least = np.float32(0.0)
        for t in range(n):
            c = best[t]
            for f in range(n_kinds):
                z[f] = min(max((evidence[i, c, f] - mean[f]) / spread[f], -cut), cut)
            total = np.float32(0.0)
            for f in range(n_kinds + 1):
                part = np.float32(0.0)
                for g in range(f, n_kinds + 1):
                    part += form[f, g] * z[g]
                total += part * z[f]
            out[i, c] = total
            least = min(least, total)
        if n == front:
            is_best = np.zeros(scores.shape[1], dtype=np.bool_)
            is_best[best] = True
            for c in range(scores.shape[1]):
                if not is_best[c]:
                    out[i, c] = least
