"""A model of half of train, updated ten times, beside a model of all of train: the table of docs/scale.md ("Growing").

    python -m benchmarks.growing [--data debian-tags,debian-deps,eurlex57k] [--presets quick,default] [--updates 10]
                                 [--limit N] [--seed 1] [--threads 2]

The data sets are those of the shared data folder beside the checkout, as texts. The half and the updates are drawn at
random: a twentieth of train each. Seconds are CPU seconds of the process, all threads together.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from zipfel import Zipfel
from zipfel.data import Dataset, read

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@dataclass(frozen=True)
class Row:
    """P@1 in percent; seconds of CPU."""

    data: str
    method: str
    half: float
    updated: float
    whole: float
    update_seconds: float
    fit_seconds: float

    def cells(self) -> list[str]:
        share = self.update_seconds / self.fit_seconds
        return [
            f"{self.data}, {self.method}",
            *(f"{value:.2f}" for value in (self.half, self.updated, self.whole)),
            f"{self.updated - self.whole:+.2f}",
            f"{self.update_seconds:.2f}",
            f"{self.fit_seconds:.1f}",
            f"{share:.3f}",
        ]


HEADER = [
    "data, method", "P@1 of the half", "P@1 after ten updates", "P@1 of all", "difference", "CPU s an update",
    "CPU s the fit of all", "share",
]  # fmt: skip


def main() -> None:
    options = arguments()
    print("| " + " | ".join(HEADER) + " |\n|" + "---|" * len(HEADER), flush=True)
    for name in options.data.split(","):
        train, test = (read(SHARED / name / f"{part}.jsonl.gz") for part in ("train", "test"))
        train = train.take(np.arange(min(len(train), options.limit or len(train))))
        for preset in options.presets.split(","):
            row = measured(name, preset, train, test, options)
            print("| " + " | ".join(row.cells()) + " |", flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", default="debian-tags,debian-deps,eurlex57k")
    parser.add_argument("--presets", default="quick,default", help="of auto; or the name of another method")
    parser.add_argument("--updates", type=int, default=10)
    parser.add_argument("--limit", type=int, help="only the first points of train")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args()


def measured(name: str, preset: str, train: Dataset, test: Dataset, options: argparse.Namespace) -> Row:
    parts = pieces(len(train), options.updates, options.seed)
    half = new_model(preset, options).fit(train.take(parts[0]))
    first = p_at_1(half, test)
    seconds = 0.0
    for rows in parts[1:]:
        start = time.process_time()
        half.partial_fit(train.take(rows))
        seconds += time.process_time() - start
    updated = p_at_1(half, test)
    start = time.process_time()
    whole = new_model(preset, options).fit(train)
    fit_seconds = time.process_time() - start
    return Row(name, preset, first, updated, p_at_1(whole, test), seconds / options.updates, fit_seconds)


def new_model(preset: str, options: argparse.Namespace) -> Zipfel:
    how: dict[str, Any] = {"seed": options.seed, "threads": options.threads}
    if preset in ("quick", "default", "thorough"):
        return Zipfel("auto", preset=None if preset == "default" else preset, **how)
    return Zipfel(preset, **how)


def pieces(n: int, updates: int, seed: int) -> list[Any]:
    """Rows of the half that is fitted, and of each update, in the order of the file."""
    order = np.random.default_rng(seed).permutation(n)
    first, *more = np.split(order, [n // 2 + (n - n // 2) * i // updates for i in range(updates)])
    return [np.sort(rows) for rows in (first, *more)]


def p_at_1(model: Zipfel, test: Dataset) -> float:
    return 100 * model.evaluate(test)["P@1"]


if __name__ == "__main__":
    main()
