"""How two rankings of the same held-out documents are compared: their precision, and its differences with errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
CUTS = (1, 3, 5)
RUNS = 50
"""Documents are compared in this many runs, as neighbours in a file are alike."""


def precisions(scores: Array, hits: Array) -> npt.NDArray[np.float64]:
    """(n,) the mean of P@1, P@3 and P@5 of each document. scores, hits: (n, c) of its candidates."""
    order = np.argsort(-scores, axis=1, kind="stable")[:, : max(CUTS)]
    return mean_over_cuts(np.take_along_axis(hits, order, axis=1))


def mean_over_cuts(gains: Array) -> npt.NDArray[np.float64]:
    """(n,) the mean of gains (n, 5) up to each cut, over the cuts."""
    return np.asarray(np.mean([gains[:, :k].sum(axis=1) / k for k in CUTS], axis=0), dtype=np.float64)


def mean_and_error(differences: Array) -> tuple[float, float]:
    """The mean of the documents' differences (n,) over runs of documents, and its standard error."""
    runs = np.array([run.mean() for run in np.array_split(differences, min(RUNS, len(differences)))])
    error = float(runs.std(ddof=1) / np.sqrt(len(runs))) if len(runs) > 1 else 0.0
    return float(runs.mean()), error
