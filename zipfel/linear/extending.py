"""Classifiers for labels that are new. Those of known labels stay as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.linear.classifiers import LinearClassifiers, LinearConfig
from zipfel.linear.problems import Problems

Array = npt.NDArray[Any]


def extended(
    model: LinearClassifiers,
    X: sp.csr_matrix,
    n_labels: int,
    new: Array,
    problems: Problems | None,
    config: LinearConfig,
) -> LinearClassifiers:
    """With classifiers for the labels `new`, learnt from rows X by `problems`, which are in their order, and a plain no
    for labels without points."""
    learnt = None if problems is None else LinearClassifiers(config).fit(X, problems)
    parts = [each.state() for each in (model, learnt) if each is not None]
    no = {"indptr": np.zeros(2, np.int64), "scale": np.ones(1), "bias": -np.ones(1)}
    parts = [*parts, no | {name: parts[0][name][:0] for name in ("weights", "features")}]
    order = np.full(n_labels, model.n_labels + len(new))
    order[: model.n_labels], order[new] = np.arange(model.n_labels), model.n_labels + np.arange(len(new))
    return picked(parts, order, int(X.shape[1]), model.config)


def picked(
    parts: Sequence[Mapping[str, Array]], order: Array, n_features: int, config: LinearConfig
) -> LinearClassifiers:
    """The classifiers of the labels `order`, counted through several `LinearClassifiers.state()`."""
    stored = parts[0]["weights"].dtype
    exact = np.float32 if stored == np.float16 else stored  # scipy can't pick rows of float16
    stacked = [
        sp.csr_matrix(
            (part["weights"].astype(exact), part["features"], part["indptr"]), (len(part["bias"]), n_features)
        )
        for part in parts
    ]
    rows = sp.vstack(stacked, format="csr")[order]
    arrays = {"indptr": rows.indptr, "features": rows.indices, "weights": rows.data.astype(stored)}
    arrays |= {name: np.concatenate([part[name] for part in parts])[order] for name in ("scale", "bias")}
    return LinearClassifiers.restored(arrays, n_features, len(order), config)
