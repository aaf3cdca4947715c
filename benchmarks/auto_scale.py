"""auto on a label set of 670,000: one epoch of its encoder, neighbours, classifiers and blend, and one document.

    python -m benchmarks.auto_scale [--points 1000000] [--labels 670000] [--features 135000] [--threads 2] [--share 1.0]

Prints the seconds of each phase, the peak memory, and the median milliseconds for one document on one thread.
`--share 0.1` takes a tenth of the points. The data are made up: they tell how long it takes, not how well it ranks.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np
import scipy.sparse as sp

from zipfel.data.synthetic import synth
from zipfel.methods import Points, make_method
from zipfel.run import Run
from zipfel.system.threads import use_threads


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, size in (("points", 1_000_000), ("labels", 670_000), ("features", 135_000), ("threads", 2)):
        parser.add_argument(f"--{name}", type=int, default=size)
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--preset", default=None)
    asked = parser.parse_args()
    n_points = round(asked.points * asked.share)
    data = synth(n_points, asked.features, asked.labels, features_per_point=75, labels_per_point=5.5, seed=0)
    rows = sp.csr_matrix(data.X)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    settings = {"codes": False} if asked.preset == "quick" else {"matcher.epochs": 1}
    method, run = make_method("auto", settings), Run(seed=1, threads=asked.threads)
    start = time.monotonic()
    with use_threads(asked.threads):
        method.fit(Points(rows, data.Y), None, run)
    print(f"{n_points:,} points, {asked.labels:,} labels, {asked.threads} threads: {time.monotonic() - start:.0f} s")
    print({phase: round(seconds, 1) for phase, seconds in run.timings.items()})
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"peak memory {peak / 2**20:.1f} GB, {before / 2**20:.1f} of them before training")
    times = []
    with use_threads(1):
        for row in range(200):
            begun = time.perf_counter()
            method.predict(rows[row], 5)
            times.append(time.perf_counter() - begun)
    print(f"one document: {1000 * np.median(times):.1f} ms")


if __name__ == "__main__":
    main()
