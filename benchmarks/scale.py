"""The papers' methods at the sizes of the papers' data: one epoch of training, then a prediction of the whole test set.

    python -m benchmarks.scale [--shapes amazontitles-670k] [--methods lightdxml,astec] [--share 1.0] [--threads 2]
                               [--out benchmarks/results/scale.jsonl]
    python -m benchmarks.scale --show benchmarks/results/scale.jsonl

Data are made up with a shape's points, labels and features: they tell what a method costs, not how well it ranks. Each
run is a process of its own with the whole method: preset paper with one epoch of each of its phases. It prints CPU
seconds, of training also by phase, the peak of memory, the size of the model, and CPU milliseconds a document. Other
programs on the machine hardly change these. `--share 0.02` takes so many of the points; labels without a training point
are left out by most methods, so the tables are smaller then, too. `--show` adds what two shares tell of the whole set.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import Bar
from zipfel.bench.runner import append_record

Row = dict[str, Any]
_GB = 16.0
"""Memory that a full run may take."""


@dataclass(frozen=True)
class Shape:
    """N, D, L of train, points of test, and means a point: labels and features."""

    points: int
    features: int
    labels: int
    test: int
    labels_per_point: float
    features_per_point: float
    methods: tuple[str, ...]


TITLES = ("lightdxml", "astec", "glas", "mnn")
SHAPES = {
    "amazontitles-670k": Shape(485_176, 66_666, 670_091, 150_875, 5.4, 6.0, TITLES),
    "wikiseealsotitles-350k": Shape(629_418, 91_414, 352_072, 162_491, 2.3, 4.0, TITLES),
    "delicious-200k": Shape(196_606, 782_585, 205_443, 100_095, 75.5, 301.0, ("dxml", "rankae")),
}
_APART = 3
"""How many times the smaller of two shares the larger one is at least, for a line through both."""
ONE_EPOCH = {
    "lightdxml": {"epochs": 1, "label_epochs": 1, "relabel_every": 1},
    "astec": {"surrogate_epochs": 1, "epochs": 1, "ranker_epochs": 1},
    "dxml": {"epochs": 1, "walks": 1},
}
"""One pass of each phase; of the other methods `epochs` is their only one. DXML's preset walks ten times from each
label, which takes ten times as long."""


def measure(shape_name: str, method: str, share: float, threads: int) -> Row:
    """One method on one shape, in this process."""
    from zipfel import Zipfel
    from zipfel.bench.peers import folder_mb, peak_mb
    from zipfel.data import synth

    shape = SHAPES[shape_name]
    n, n_test = round(share * shape.points), round(share * shape.test)
    per_point = {"features_per_point": shape.features_per_point, "labels_per_point": shape.labels_per_point}
    data = synth(n + n_test, shape.features, shape.labels, **per_point, seed=0)
    train, test = data.take(np.arange(n)), data.take(np.arange(n, n + n_test))
    del data
    given, start, began = peak_mb(), time.process_time(), time.monotonic()
    settings: dict[str, Any] = dict(ONE_EPOCH.get(method, {"epochs": 1}))
    model = Zipfel(method, preset="paper", weighting="l2", threads=threads, seed=1, **settings).fit(train)
    fitted, peak = time.process_time() - start, peak_mb()
    busy = fitted / (time.monotonic() - began)
    n_labels = int((np.bincount(train.Y.indices, minlength=shape.labels) > 0).sum())
    del train
    with tempfile.TemporaryDirectory() as folder:
        model.save(f"{folder}/model")
        size = folder_mb(f"{folder}/model")
    start = time.process_time()
    scores = model.evaluate(test, ks=(1,))
    answered = time.process_time() - start
    timings = {name: seconds for name, seconds in model.training_["timings"].items() if seconds >= 0.05}
    return {
        "shape": shape_name, "method": method, "share": share, "threads": threads, "points": n, "labels": n_labels,
        "test": n_test, "train_cpu": fitted, "phases": {name: busy * s for name, s in timings.items()},
        "data_gb": given / 1e3, "peak_gb": peak / 1e3, "all_gb": peak_mb() / 1e3, "model_mb": size,
        "predict_cpu": answered, "P@1": 100 * scores["P@1"],
    }  # fmt: skip


def run(shape: str, method: str, share: float, threads: int) -> Row:
    """`measure` in a process of its own: peaks of memory are a process's."""
    words = ["--one", "--shapes", shape, "--methods", method, "--share", str(share), "--threads", str(threads)]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.scale", *words], stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        return {"shape": shape, "method": method, "share": share, "threads": threads, "failed": done.returncode}
    found: Row = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def markdown(rows: Sequence[Row]) -> str:
    """A line for each row; under those of a method on a shape the whole set, if it is not among them and
    shares far enough apart are."""
    head = ("shape", "method", "points", "labels", "train s", "of these", "peak GB", "model MB", "ms a document")
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for shape, method in dict.fromkeys((row["shape"], row["method"]) for row in rows):
        mine = sorted(
            (row for row in rows if (row["shape"], row["method"]) == (shape, method)), key=lambda row: row["share"]
        )
        lines += [_line(row) for row in mine]
        done = [row for row in mine if "failed" not in row]
        if done and _APART * done[0]["share"] <= done[-1]["share"] < 1:
            lines.append(_line(whole_set(done[0], done[-1])))
    return "\n".join(lines)


def whole_set(less: Row, more: Row) -> Row:
    """What the whole set takes, along the lines through two shares of it: CPU seconds by points, the model by labels,
    memory by whichever gives more. Labels grow more slowly than points, so that memory will be less."""
    shape = SHAPES[more["shape"]]

    def along(name: str, by: str) -> float:
        slope = (more[name] - less[name]) / (more[by] - less[by])
        return float(more[name] + slope * (getattr(shape, by) - more[by]))

    found = {"train_cpu": along("train_cpu", "points"), "model_mb": along("model_mb", "labels")}
    memory = max(along("all_gb", by) for by in ("points", "labels"))
    return {**more, **found, "all_gb": memory, "points": shape.points, "labels": shape.labels, "phases": {}, "line": 1}


def _line(row: Row) -> str:
    if "failed" in row:
        return f"| {row['shape']} | {row['method']} | failed: exit code {row['failed']} |"
    seen = {name.partition(":")[0]: seconds for name, seconds in row["phases"].items() if seconds >= 0.5}
    phases = "; ".join(f"{name} {seconds:.0f}" for name, seconds in seen.items())
    cells = (
        row["shape"], row["method"], f"{row['points']:,}", f"{row['labels']:,}", f"{row['train_cpu']:.0f}",
        "along the line" if "line" in row else phases, f"{row['all_gb']:.1f}", f"{row['model_mb']:.0f}",
        "" if "line" in row else f"{1000 * row['predict_cpu'] / row['test']:.2f}",
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def main(
    shapes: Sequence[str] = ("amazontitles-670k",),
    methods: Sequence[str] = ("lightdxml", "astec"),
    share: float = 0.01,
    threads: int = 2,
    out: Path | None = None,
) -> list[Bar]:
    """methods: none named are the shape's own."""
    rows = []
    for shape in shapes:
        for method in methods or SHAPES[shape].methods:
            rows.append(run(shape, method, share, threads))
            print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
            if out is not None:
                append_record(out, rows[-1])
    print(markdown(rows))
    return [
        Bar(f"scale: {row['method']} on {row['shape']}, peak memory", row["all_gb"], _GB, at_least=False, unit="GB")
        for row in rows
        if "failed" not in row
    ]


def arguments() -> argparse.Namespace:
    def words(text: str) -> list[str]:
        return [word for word in text.split(",") if word]

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", type=words, default=list(SHAPES), help=f"of {', '.join(SHAPES)}")
    parser.add_argument("--methods", type=words, default=[], help="default: those of the shape's papers")
    parser.add_argument("--share", type=float, default=1.0, help="of the points")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, help="rows are added to this file")
    parser.add_argument("--show", type=Path, help="print the table of this file and run nothing")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    asked = arguments()
    if asked.show:
        print(markdown([json.loads(line) for line in asked.show.read_text(encoding="utf-8").splitlines()]))
    elif asked.one:
        print(json.dumps(measure(asked.shapes[0], asked.methods[0], asked.share, asked.threads)))
    else:
        for bar in main(asked.shapes, asked.methods, asked.share, asked.threads, asked.out):
            print("  ".join(bar.cells()))
