"""What each of auto's parts brings on held-out points, over many splits: the table behind the choice of parts.

    python -m benchmarks.part_gains ../shared/data [--splits 20] [--points 4000] [--out FILE.json] [DATA ...]

A split is a sample of the training points, of which auto holds some out by itself. A part's gain is what is lost
without it when all others stay: of the mean of P@1, P@3 and P@5, in points, and of a document's log-likelihood, in
hundredths. Means over splits, and their standard errors.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np

from benchmarks.part_costs import find
from zipfel.data import Dataset
from zipfel.estimator.rows import RowMaker
from zipfel.evidence import rules
from zipfel.evidence.ensemble import columns_by_part
from zipfel.evidence.judge import HeldOut
from zipfel.evidence.part import Part
from zipfel.evidence.selection import Verdict, leave_one_out
from zipfel.methods.auto import Auto
from zipfel.methods.auto_config import AutoConfig
from zipfel.points import Points
from zipfel.run import Run
from zipfel.system.threads import blas_threads

DATA = ("bibtex", "delicious", "debian-tags", "debian-deps", "eurlex57k", "tibkat")
ALWAYS = ("words", "classifiers", "frequency")
NOT_HERE = ("names", "bridge", "embeddings")
"""They need label names, or vectors by the user."""


class _KnownError(Exception):
    """Ends a fit when the held-out points have been told."""


class Rehearsal(Auto):
    """auto up to the choice of parts."""

    verdicts: list[Verdict]

    def _chosen(self, known: HeldOut, parts: dict[str, Part]) -> list[rules.Tried]:
        with blas_threads(1):
            asked = [name for name in parts if name not in ALWAYS]
            self.verdicts = leave_one_out(known, columns_by_part(list(parts.values())), asked)
        raise _KnownError


def rehearsed(train: Dataset, seed: int, points: int, parts: str) -> list[Verdict]:
    rows = np.sort(np.random.default_rng(seed).permutation(train.n_points)[:points])
    run, some = Run(seed=seed, threads=2), train.take(rows)
    X = RowMaker().fit_transform(some, run, weighting="auto", vectorizer=None)
    method = Rehearsal(AutoConfig.from_dict({"only": parts}))
    try:
        method.fit(Points(X, some.Y), None, run)
    except _KnownError:
        return method.verdicts
    raise AssertionError("a rehearsal ends with the choice")


def table(train: Dataset, splits: int, points: int) -> dict[str, dict[str, tuple[float, float]]]:
    """By part: (mean, standard error) of points of precision, and of hundredths of log-likelihood."""
    tried = [rule.part for rule in rules.RULES if rule.effort != "thorough" and rule.part not in NOT_HERE]
    network = train.n_labels <= rules.NETWORK_ROWS
    names = ",".join(name for name in tried if name != "network" or network)
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for seed in range(splits):
        for verdict in rehearsed(train, seed, points, names):
            found[verdict.part].append((100 * verdict.gain, 100 * verdict.likelihood))
    return {
        part: {
            name: (round(float(np.mean(own)), 3), round(float(np.std(own, ddof=1) / len(own) ** 0.5), 3))
            for name, own in zip(("precision", "likelihood"), zip(*pairs, strict=True), strict=True)
        }
        for part, pairs in found.items()
        if len(pairs) > 1  # the network is tried only where a sample has few features
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("data", nargs="*", default=DATA)
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--points", type=int, default=4000)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    everything = {}
    for name in args.data:
        everything[name] = table(find(args.folder / name, "train"), args.splits, args.points)
        for part, gains in everything[name].items():
            shown = "  ".join(f"{kind} {mean:+.2f} ± {error:.2f}" for kind, (mean, error) in gains.items())
            print(f"{name:12s} {part:12s} {shown}", flush=True)
        if args.out:
            facts = {"splits": args.splits, "points": args.points, "gains": everything}
            args.out.write_text(json.dumps(facts, indent=1) + "\n")
