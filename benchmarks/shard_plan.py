"""What 100 million labels take: the cost of a shard by the measured curve, and a simulation of 1,000 shards.

    python -m benchmarks.shard_plan benchmarks/results/label_curve.jsonl --data train.jsonl.gz [--points 1e9]
        [--labels 1e8] [--shards 1024] [--machines 100] [--cores 16] [--out benchmarks/results/shard_plan.json]

The curve gives what one machine takes for L labels with 1.5 points each: CPU seconds, bytes held and bytes of the
model, each a power of L. A shard is such a machine's work: its labels, and the points that have one of them.

The simulation cuts the labels of real data (--data FILE) into so many shards by balanced 2-means: how many shards a
point belongs to, how even the shards are, how many of the true labels lie in the shards that each router asks
(`benchmarks.shard_routers`), and how long all shards take on so many cores if tasks die and are done again.
"""

from __future__ import annotations

import argparse
import heapq
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from benchmarks.shard_routers import routed
from zipfel.scale.label_clusters import balanced_clusters

FEATURES_A_POINT, POINTS_A_LABEL, SMALLEST = 75, 1.5, 3_000
PROGRAM_MB = 125
"""Held by the program and its libraries, whatever the data, without mapped files."""
BYTES_A_FEATURE, BYTES_AN_ANSWER = 6, 12
"""A feature on the way: its number and two bytes; a label with its score and its shard's number."""
HELD_OUT, CANDIDATES, EVIDENCE = 50_000, 100, 20
"""Documents that the judge of all shards learns from, candidates of each in a shard, and numbers of each."""
_FULLEST, _DIES = 2.0, 0.02
"""Times the mean number of points that a shard learns from: those of a shard with a very frequent label are thinned.
Share of tasks that die."""
Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Curve:
    """(a, b) in a L^b of CPU seconds, megabytes held while fitting besides the program, and the model's megabytes."""

    seconds: tuple[float, float]
    held: tuple[float, float]
    model: tuple[float, float]

    @classmethod
    def fitted(cls, rows: Sequence[dict[str, Any]], system: str = "quick") -> Curve:
        own = [row for row in rows if row["system"] == system and row["labels"] >= SMALLEST]
        own = [row for row in own if row["points"] >= POINTS_A_LABEL * row["labels"]]
        labels = np.array([row["labels"] for row in own], dtype=np.float64)
        fit, peak, model = (
            np.array([row[key] for row in own], dtype=np.float64) for key in ("fit", "peak_mb", "model_mb")
        )
        return cls(_power(labels, fit), _power(labels, np.maximum(peak - PROGRAM_MB, 1)), _power(labels, model))


def _power(x: Array, y: Array) -> tuple[float, float]:
    """(a, b) of a x^b, on log axes."""
    b, log_a = np.polyfit(np.log(x), np.log(y), 1)
    return float(np.exp(log_a)), float(b)


@dataclass(frozen=True)
class Plan:
    """copies: shards that a point belongs to, on average. asked: shards that a document is sent to."""

    points: float
    labels: float
    shards: int
    copies: float
    asked: int

    def shard(self, curve: Curve) -> dict[str, float]:
        """What one shard takes. Work grows with its points, as far as the curve's points a label are exceeded."""
        labels, points = self.labels / self.shards, self.points * self.copies / self.shards
        fuller = points / (POINTS_A_LABEL * labels)
        return {
            "labels": labels,
            "points": points,
            "cpu_seconds": fuller * curve.seconds[0] * labels ** curve.seconds[1],
            "held_gb": fuller * curve.held[0] * labels ** curve.held[1] / 1e3,
            "model_gb": fuller * curve.model[0] * labels ** curve.model[1] / 1e3,
            "received_gb": points * FEATURES_A_POINT * BYTES_A_FEATURE / 1e9,
        }

    def whole(self, curve: Curve, cores: int) -> dict[str, float]:
        one = self.shard(curve)
        judged = HELD_OUT * self.asked * CANDIDATES * EVIDENCE * 4
        return {
            "core_hours": self.shards * one["cpu_seconds"] / 3600,
            "hours": self.shards * one["cpu_seconds"] / 3600 / cores,
            "model_tb": self.shards * one["model_gb"] / 1e3,
            "traffic_tb": (self.shards * one["received_gb"] + judged / 1e9) / 1e3,
            "kb_a_document": self.asked * (FEATURES_A_POINT * BYTES_A_FEATURE + 5 * BYTES_AN_ANSWER) / 1e3,
        }


# -- the simulation


def memberships(Y: sp.csr_matrix, shard_of: Array, n: int) -> sp.csr_matrix:
    """(n_points, n): how many labels of a point lie in each shard."""
    to_shard = sp.csr_matrix(
        (np.ones(len(shard_of), dtype=np.float32), (np.arange(len(shard_of)), shard_of)), (len(shard_of), n)
    )
    return sp.csr_matrix(Y @ to_shard)


def makespan(seconds: Array, slots: int, dies: float, rng: np.random.Generator) -> tuple[float, int]:
    """(seconds until all tasks are done, tasks that died); the longest come first. A task dies with this probability,
    somewhere on its way, and is done again."""
    free, died = [0.0] * slots, 0
    heapq.heapify(free)
    waiting = sorted(seconds.tolist(), reverse=True)
    end = 0.0
    for task in waiting:
        while rng.random() < dies:
            start = heapq.heappop(free)
            heapq.heappush(free, start + task * rng.random())
            died += 1
        done = heapq.heappop(free) + task
        heapq.heappush(free, done)
        end = max(end, done)
    return end, died


def played(X: sp.csr_matrix, Y: sp.csr_matrix, plan: Plan, curve: Curve, slots: int, dies: float) -> dict[str, Any]:
    """The plan with the labels of real data: rows X of unit length and labels Y, in any order. Copies are counted."""
    n_test = min(2000, X.shape[0] // 10)
    order = np.random.default_rng(0).permutation(X.shape[0])
    X, Y = X[order], Y[order]
    seen = Y[: X.shape[0] - n_test]
    counts = np.bincount(seen.indices, minlength=Y.shape[1])
    means = sp.csr_matrix(seen.T @ X[: seen.shape[0]])
    lengths = np.sqrt(np.asarray(means.multiply(means).sum(axis=1)).ravel())
    means = sp.csr_matrix(sp.diags(1 / np.maximum(lengths, 1e-9)) @ means, dtype=np.float32)
    shard_of = balanced_clusters(means, np.maximum(counts, 0.01), plan.shards, np.random.default_rng(1))
    inside = memberships(Y, shard_of, plan.shards)
    points = np.bincount(inside.indices, minlength=plan.shards)
    shares = points / points.mean()
    copies = round(inside.nnz / X.shape[0], 3)
    one = replace(plan, copies=copies).shard(curve)["cpu_seconds"]
    end, died = makespan(one * np.minimum(shares, _FULLEST), slots, dies, np.random.default_rng(0))
    return {
        "copies": copies,
        "largest_shard": round(float(shares.max()), 3),
        **routed(X, Y, inside, n_test),
        "hours": round(end / 3600, 3),
        "hours_if_even": round(one * plan.shards / slots / 3600, 3),
        "died": died,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("curve", type=Path)
    parser.add_argument("--data", required=True)
    parser.add_argument("--points", type=float, default=1e9)
    parser.add_argument("--labels", type=float, default=1e8)
    parser.add_argument("--shards", type=int, default=1024, help="a power of two")
    parser.add_argument("--asked", type=int, default=16)
    parser.add_argument("--machines", type=int, default=100)
    parser.add_argument("--cores", type=int, default=16)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    from zipfel.data import read
    from zipfel.estimator.rows import RowMaker
    from zipfel.run import Run

    curve = Curve.fitted([json.loads(line) for line in asked.curve.read_text().splitlines()])
    slots = asked.machines * asked.cores
    data = read(asked.data)
    X = RowMaker().fit_transform(data, Run())
    plan = Plan(asked.points, asked.labels, asked.shards, 1.0, asked.asked)
    simulated = played(X, data.Y, plan, curve, slots, _DIES)
    plan = replace(plan, copies=simulated["copies"])
    found = {
        "curve": asdict(curve),
        "plan": asdict(plan),
        "shard": plan.shard(curve),
        "whole": plan.whole(curve, slots),
        "simulated": simulated,
        "cores": slots,
    }
    text = json.dumps(found, indent=1)
    print(text)
    if asked.out:
        asked.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
