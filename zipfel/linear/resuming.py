"""Fitted classifiers are solved again with more documents, from the dual variables that the fit ended with.

    min over a >= 0 of old and new documents:  1/2 |w(a)|^2 - sum_i a_i + sum_i a_i^2 / 4C,   w(a) = sum_i a_i y_i x_i

The dual variables of old documents can fall here, so new documents count as much as old ones. `continued` holds the old
ones fixed, and has to count new documents less. The start is near to the optimum, so few passes suffice: see PASSES.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.linear.classifiers import LinearClassifiers
from zipfel.linear.extending import picked
from zipfel.linear.problems import Problems

Array = npt.NDArray[Any]

PASSES = 2
"""Over the documents of a label, at most. On a held-out part of eurlex57k's train, more change P@1 by no more than 0.1
points; one pass loses two points."""


def resumed(
    model: LinearClassifiers, X: sp.csr_matrix, problems: Problems, labels: Array, *, seed: int = 0
) -> LinearClassifiers:
    """The classifiers, in which those of some labels are solved from the dual variables in `problems`, which afterwards
    has the new ones. All others stay to the bit as they are.

    X: (n, n_features) rows of all documents; problems: of the model's labels, see `with_new_documents`.
    """
    if not len(labels):
        return model
    own, c = problems.of_labels(labels), model.config
    learnt = LinearClassifiers(c.replace(iterations=min(PASSES, c.iterations))).fit(X, own, seed=seed)
    is_own = np.zeros(problems.n_labels, dtype=bool)
    is_own[labels] = True
    problems.dual[np.repeat(is_own, np.diff(problems.ptr))] = own.dual
    order = np.arange(model.n_labels)
    order[labels] = model.n_labels + np.arange(len(labels))
    return picked([model.state(), learnt.state()], order, int(X.shape[1]), c)


def with_new_documents(solved: Problems, new: Problems, n_before: int, Y: sp.csr_matrix) -> Problems:
    """Problems of old and new documents: all positives, and the negatives of both.

    Y: (n, n_labels) labels of all documents, the first n_before of them old; solved: of the old ones, those that count,
    with their dual variables, which are kept; new: of the new ones, numbered from 0.
    """
    n_new = Y.shape[0] - n_before
    negatives = sp.vstack([_negatives(solved, n_before), _negatives(new, n_new)], format="csr")
    found = Problems.of_lists(Y.indptr, Y.indices, negatives.indptr, negatives.indices, int(Y.shape[1]))
    found.start_from(solved)
    return found


def _negatives(problems: Problems, n: int) -> sp.csr_matrix:
    """(n, n_labels) which of n documents is a negative of which label."""
    sizes = np.diff(problems.ptr)
    place = np.arange(len(problems.docs)) - np.repeat(problems.ptr[:-1], sizes)
    docs = problems.docs[place >= np.repeat(problems.n_positive, sizes)]
    ends = np.append(0, np.cumsum(sizes - problems.n_positive))
    return sp.csc_matrix((np.ones(len(docs), dtype=np.int8), docs, ends), shape=(n, problems.n_labels)).tocsr()
