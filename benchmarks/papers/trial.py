"""Settings of a method side by side on rows held out of train: how the pages' settings were tried.

    python -m benchmarks.papers.trial delicious lightdxml:paper 'lightdxml:paper[label_lr=0.003]' [--points 4000]

A share of train is held out first, the same for all; --points are then drawn from the rest. Test is not read. One seed:
differences below a point are noise, unless more --seeds say otherwise.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks.papers.special import fitted, markdown, points
from benchmarks.small import cell, drawn
from zipfel.methods import Points
from zipfel.metrics import evaluate

METRICS = ("P@1", "P@3", "P@5", "PSP@1", "PSP@5")


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", help="a name under --shared")
    parser.add_argument("methods", nargs="+", help="words as for zipfel bench: METHOD:PRESET[NAME=VALUE;...]")
    parser.add_argument("--shared", type=Path, default=Path("..") / "shared" / "data", help="where the data sets are")
    parser.add_argument("--points", type=int, default=0, help="points to learn from; 0: all that are not held out")
    parser.add_argument("--held", type=float, default=0.25, help="share of train that is held out")
    parser.add_argument("--at-most", type=int, default=3000, help="points that are held out at most")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("bench-out"), help="where the rows are kept")
    asked = parser.parse_args(given)
    rest, held = held_out(asked)
    print(f"{asked.data}: {rest.n_points} points learnt from, {held.n_points} held out\n")
    rows = [tried(asked, word, rest, held) for word in asked.methods]
    print(markdown("Settings", ("method", *METRICS, "CPU s"), rows))


def held_out(asked: argparse.Namespace) -> tuple[Points, Points]:
    """(what is learnt from, what is held out)"""
    whole, _ = points(
        argparse.Namespace(shared=asked.shared, out=asked.out, threads=asked.threads, points=0), asked.data
    )
    rest, held = whole.split(asked.held, np.random.default_rng(0), asked.at_most)
    return drawn(rest, asked.points, 0), held


def tried(asked: argparse.Namespace, word: str, rest: Points, held: Points) -> dict[str, str]:
    """A row: means over seeds, with their deviation where there are several."""
    found = list(measured(asked, word, rest, held))
    return {"method": word, **{name: cell((row[name] for row in found), 1) for name in found[0]}}


def measured(asked: argparse.Namespace, word: str, rest: Points, held: Points) -> Iterator[dict[str, float]]:
    counts = np.bincount(rest.Y.indices, minlength=rest.n_labels)
    for seed in range(1, asked.seeds + 1):
        start = time.process_time()
        method = fitted(asked, word, rest, seed)
        seconds = time.process_time() - start
        metrics = evaluate(method.predict(held.X, 5), held.Y, counts, rest.n_points, ks=(1, 3, 5))
        yield {**{name: 100 * metrics[name] for name in METRICS}, "CPU s": seconds}


if __name__ == "__main__":
    main()
