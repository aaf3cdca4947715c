"""One measured run of one of zipfel's own methods: `python -m zipfel.bench.worker run JOB.json`.

`warm-up` in place of `run` fits and predicts a few rows and keeps nothing: kernels are compiled once after
installation, and that is not part of any training time.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import scipy.sparse as sp

from zipfel.bench.peers import Job, load_rows, measure, read_job
from zipfel.bench.systems import parse_method
from zipfel.classifier import Zipfel
from zipfel.kernels.loading import load_kernels
from zipfel.methods import method_class

WARM_UP_ROWS = 5000
"""Fewer would not do all that many do: some parts begin with so many held-out points."""


class Ours:
    """`peers.System` for a method; the rows are weighted already, by the same hand for all systems."""

    package = "zipfel"

    def __init__(self, job: Job) -> None:
        name, preset, params = parse_method(job["system"])
        own: dict[str, Any] = dict(params)
        self.model = Zipfel(name, preset=preset, weighting="none", seed=job["seed"], threads=job["threads"], **own)
        self.params: dict[str, Any] = {"preset": preset, **params}
        method_class(name)  # imports what it needs, as peers do, before the clock runs
        load_kernels()  # peers load their machine code when they are imported

    def fit(self, X: sp.csr_matrix, Y: sp.csr_matrix) -> None:
        self.model.fit(X, Y)
        self.phases: dict[str, float] = dict(self.model.training_["timings"])

    def reload(self, folder: str) -> None:
        self.model.save(folder)
        self.model = Zipfel.load(folder)

    def predict(self, X: sp.csr_matrix, k: int) -> Any:
        return self.model.predict(X, k).labels

    def predict_one(self, x: sp.csr_matrix, k: int) -> Any:
        return self.model.predict(x, k).labels


def warm_up(job: Job) -> None:
    X, Y = load_rows(job["rows"], "train", "X"), load_rows(job["rows"], "train", "Y")
    rows = np.sort(np.random.default_rng(0).permutation(X.shape[0])[:WARM_UP_ROWS])
    system = Ours(job)
    system.fit(X[rows], Y[rows])
    system.predict(X[rows[:10]], job["k"])


def main() -> None:
    verb, path = sys.argv[1:]
    job = read_job(path)
    if verb == "warm-up":
        warm_up(job)
    else:
        measure(Ours, job)


if __name__ == "__main__":
    main()
