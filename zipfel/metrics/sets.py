"""How good sets of labels are, whose sizes differ from document to document.

    micro-F1@t   2 tp / (2 tp + fp + fn) over all (document, label) pairs
    macro-F1@t   mean of a label's 2 tp / (2 tp + fp + fn) over the labels that are true or given anywhere
    F1@t         mean over documents of 2 |given and true| / (|given| + |true|)
    P@t, R@t     tp / (tp + fp) and tp / (tp + fn) over all pairs
    labels@t     labels given to a document, on average

"t" stands for the threshold. A document that has no label and gets none has an F1 of 1.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from zipfel.data import binary
from zipfel.metrics.per_label import is_hit, label_scores
from zipfel.ranking import PAD, Ranking


def evaluate_sets(given: Ranking, truth: sp.csr_matrix) -> dict[str, float]:
    """given: rows of accepted labels with pads behind; truth: (n, n_labels).

    >>> given = Ranking(np.array([[0, -1], [1, 0]]), np.zeros((2, 2), dtype=np.float32))
    >>> found = evaluate_sets(given, sp.csr_matrix(np.array([[1, 0], [0, 1]])))
    >>> round(found["micro-F1@t"], 3), round(found["F1@t"], 3), found["labels@t"]
    (0.8, 0.833, 1.5)
    """
    truth = binary(truth)
    hits, n_true = is_hit(given.labels, truth).sum(axis=1), np.diff(truth.indptr)
    n_given = (given.labels != PAD).sum(axis=1)
    per_label = label_scores(given, truth, max(1, given.k))
    met = (per_label.predicted + per_label.support) > 0
    tp = float(hits.sum())
    f1 = np.where(n_given + n_true > 0, 2 * hits / np.maximum(n_given + n_true, 1), 1.0)
    return {
        "micro-F1@t": 2 * tp / max(1.0, float(n_given.sum() + n_true.sum())),
        "macro-F1@t": float(per_label.f1[met].mean()) if met.any() else 0.0,
        "F1@t": float(f1.mean()) if len(f1) else 0.0,
        "P@t": tp / max(1.0, float(n_given.sum())),
        "R@t": tp / max(1.0, float(n_true.sum())),
        "labels@t": float(n_given.mean()) if len(n_given) else 0.0,
    }
