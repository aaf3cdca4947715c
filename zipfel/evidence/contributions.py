"""What words and voters added to a label's score: the parts that methods' `explain` is made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.explanation import Explanation, Voter
from zipfel.kernels.sparse_rows import values_at

Array = npt.NDArray[Any]
_SHARED = 3
"""Words that an explanation names of a voter."""


def without_zeros(x: sp.csr_matrix) -> sp.csr_matrix:
    """The same row with its columns rising and distinct, and without zeros."""
    x = sp.csr_matrix(x, copy=True)
    x.sum_duplicates()
    x.eliminate_zeros()
    return x


def word_parts(x: sp.csr_matrix, weights: sp.csr_matrix, label: int) -> Array:
    """(t,) x_j w_lj for each of the t features of x (1, n_features), canonical; weights: (n_labels, n_features)."""
    return np.asarray(x.data * values_at(weights, label, x.indices), dtype=np.float64)


def shared_parts(x: sp.csr_matrix, rows: sp.csr_matrix, ids: Array) -> Array:
    """(m, t): x_j x_ij for each of the t features of x and each of the m rows."""
    found = [x.data * values_at(rows, int(i), x.indices) for i in ids]
    return np.array(found, dtype=np.float64).reshape(len(ids), x.nnz)


def strongest_voters(ids: Array, added: Array, shared: Array, features: Array) -> list[Voter[int]]:
    """The rows `ids` (m,), the strongest first, with what each added (m,) and the features that count most in `shared`
    (m, t); those that added nothing are left out."""
    found = []
    for place in np.lexsort((ids, -added)):
        if added[place] > 0:
            best = np.argsort(-shared[place], kind="stable")[:_SHARED]
            words = [int(features[j]) for j in best if shared[place, j] > 0]
            found.append(Voter(int(ids[place]), float(added[place]), words))
    return found


def by_frequency(
    priors: Array, labels: Sequence[int], n_words: int = 0
) -> tuple[dict[int, list[float]], dict[int, dict[str, float]]]:
    """(contributions, evidence) of a document without any known feature, which gets the most frequent labels."""
    nothing = {label: [0.0] * n_words for label in labels}
    return nothing, {label: {"frequency": float(priors[label])} for label in labels}


def explain_linear(
    x: sp.csr_matrix, weights: sp.csr_matrix, labels: Sequence[int], start: Array | None = None
) -> Explanation:
    """Of score(l) = sum_j x_j w_lj + start_l; x: (1, n_features), weights: (n_labels, n_features)."""
    x = without_zeros(x)
    parts = {label: word_parts(x, weights, label) for label in labels}
    evidence = {label: {"words": float(part.sum())} for label, part in parts.items()}
    if start is not None:
        for label in labels:
            evidence[label]["start"] = float(start[label])
    return Explanation(x.indices.tolist(), [], {label: part.tolist() for label, part in parts.items()}, evidence)
