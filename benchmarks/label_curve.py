"""What fitting and answering cost from 1,000 labels on: auto's presets beside Parabel (omikuji), each in a process.

    python -m benchmarks.label_curve [--labels 1000,3000,10000] [--systems auto,quick,parabel] [--threads 2]
                                     [--out benchmarks/results/label_curve.jsonl]
    python -m benchmarks.label_curve --shape amazon-3m --labels 3000000 --systems quick --limit 16GB
    python -m benchmarks.label_curve --draw benchmarks/results/label_curve.jsonl docs/figures/label-curve.svg

Data are made up in the shape of Amazon-670K: 1.5 points a label, 135,000 features, 75 a point, 5.5 labels a point; or
of Amazon-3M: 0.6 points a label, 337,000 features, 50 a point, but 10 labels a point instead of 36, to save time. They
tell what it costs, not how well it ranks. CPU seconds are of the whole process and its children, less those of making
the data: unlike seconds of a clock, they hardly depend on what else the machine does. Peaks are resident sets without
those of making the data; the training data are in them. Latency is the median CPU time of one document on one thread,
the least of several times that each is asked: other programs slow some down. `--limit` runs each system in a control
group (version 1), in which making the data counts, too. `--draw` also prints the table and the
fitted exponents.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.beyond_memory import group

POINTS_A_LABEL = 1.5
HELD, SINGLES, TIMES = 1000, 200, 5
SIZES = (1_000, 3_000, 10_000, 30_000, 100_000)
Row = dict[str, Any]


@dataclass(frozen=True)
class Shape:
    features: int
    features_a_point: float
    labels_a_point: float
    points_a_label: float


SHAPES = {
    "amazon-670k": Shape(135_000, 75, 5.5, POINTS_A_LABEL),
    "amazon-3m": Shape(337_000, 50, 10, 0.6),
}


def data(n_labels: int, shape: Shape = SHAPES["amazon-670k"]) -> tuple[Any, Any]:
    """(train, test)"""
    from zipfel.data import synth

    n = max(2000, round(shape.points_a_label * n_labels))
    means = {"features_per_point": shape.features_a_point, "labels_per_point": shape.labels_a_point}
    whole = synth(n + HELD, shape.features, n_labels, **means, seed=0)
    return whole.take(np.arange(n)), whole.take(np.arange(n, n + HELD))


def cpu_seconds() -> float:
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def latency(ask: Callable[[sp.csr_matrix], object], X: sp.csr_matrix) -> float:
    """Milliseconds of CPU of this thread for one document: the median of the least that each took."""
    times = np.empty((TIMES, SINGLES))
    for again in times:
        for i in range(SINGLES):
            start = time.thread_time()
            ask(X[i])
            again[i] = 1000 * (time.thread_time() - start)
    return float(np.median(times.min(axis=0)))


def run_auto(preset: str | None, train: Any, test: Any, threads: int, folder: Path) -> Row:
    from zipfel import Zipfel
    from zipfel.persistence import folder_size
    from zipfel.scale.resident import watched
    from zipfel.system.threads import use_threads

    clock, start = time.monotonic(), cpu_seconds()
    with watched() as watch:
        model = Zipfel("auto", preset=preset, threads=threads, seed=1).fit(train)
    fitted, wall, parts = cpu_seconds(), time.monotonic() - clock, model.training_["timings"]
    model.save(folder / "model")
    saved = cpu_seconds()
    del model
    loaded = Zipfel.load(folder / "model")
    ready = cpu_seconds()
    scores = loaded.evaluate(test)
    loaded.threads = 1
    with use_threads(1):
        one = latency(lambda x: loaded.predict(x, 5), test.X)
    return {
        "fit": fitted - start, "wall": wall, "save": saved - fitted, "load": ready - saved, "latency_ms": one,
        "model_mb": folder_size(folder / "model") / 1e6, "P@1": 100 * scores["P@1"],
        "fit_peak_mb": watch.peak / 1e6, "parts": parts,
    }  # fmt: skip


def run_parabel(train: Any, test: Any, threads: int, folder: Path) -> Row:
    import omikuji

    from zipfel.data import write

    (file,) = write(train, folder / "train.txt", format="xmc")
    clock, start = time.monotonic(), cpu_seconds()
    model = omikuji.Model.train_on_data(str(file), omikuji.Model.default_hyper_param(), n_threads=threads)
    fitted, wall = cpu_seconds(), time.monotonic() - clock
    model.save(str(folder / "model"))
    saved = cpu_seconds()
    model = omikuji.Model.load(str(folder / "model"))
    ready = cpu_seconds()

    def ask(x: sp.csr_matrix) -> Any:
        return model.predict(list(zip(x.indices.tolist(), x.data.tolist(), strict=True)), top_k=5)

    hits = [test.Y[i, found[0][0]] > 0 if (found := ask(test.X[i])) else False for i in range(test.n_points)]
    size = sum(part.stat().st_size for part in (folder / "model").rglob("*") if part.is_file())
    return {
        "fit": fitted - start, "wall": wall, "save": saved - fitted, "load": ready - saved,
        "latency_ms": latency(ask, test.X), "model_mb": size / 1e6, "P@1": 100 * float(np.mean(hits)),
    }  # fmt: skip


def measure(system: str, n_labels: int, threads: int, shape: str, points_a_label: float | None) -> Row:
    """One system at one size, in this process."""
    from zipfel.system.threads import set_threads

    set_threads(threads)
    if system != "parabel":  # kernels are compiled, which is no part of the work
        small, asked = data(1000)
        with tempfile.TemporaryDirectory() as folder:
            run_auto(None if system == "auto" else system, small, asked, threads, Path(folder))
    wanted = SHAPES[shape]
    train, test = data(n_labels, replace(wanted, points_a_label=points_a_label or wanted.points_a_label))
    from zipfel.scale.resident import watched

    with tempfile.TemporaryDirectory() as folder, watched() as watch:
        if system == "parabel":
            found = run_parabel(train, test, threads, Path(folder))
        else:
            found = run_auto(None if system == "auto" else system, train, test, threads, Path(folder))
    return {
        "system": system, "shape": shape, "labels": n_labels, "points": train.n_points, "threads": threads, **found,
        "peak_mb": watch.peak / 1e6,
    }  # fmt: skip


def run_within(limit: int | None, words: list[str]) -> str:
    """The last line that a command prints; limit: bytes of its control group."""
    with group(limit) if limit else nullcontext((None, None)) as (enter, folder):
        if limit and folder is None:
            raise SystemExit("there is no control group to be had here: leave --limit out")
        done = subprocess.run(words, stdout=subprocess.PIPE, check=True, text=True, preexec_fn=enter)
        row = json.loads(done.stdout.strip().splitlines()[-1])
        if folder is not None:
            row |= {"limit": limit, "group_peak_mb": int((folder / "memory.max_usage_in_bytes").read_text()) / 1e6}
    return json.dumps(row)


def exponent(rows: Sequence[Row], key: str, since: int = 10_000) -> float:
    """b of a L^b, fitted to the sizes from `since` on, on log axes; of data with all of their points."""
    full = [row for row in rows if row["points"] >= POINTS_A_LABEL * row["labels"]]  # not of another shape either
    found = [(row["labels"], row[key]) for row in full if row["labels"] >= since and row[key] > 0]
    if len(found) < 2:
        return float("nan")
    x, y = np.log(np.array(found, dtype=np.float64)).T
    return float(np.polyfit(x, y, 1)[0])


SHOWN = (("fit", "CPU s to fit"), ("peak_mb", "peak MB"), ("model_mb", "model MB"), ("latency_ms", "ms a document"))


def draw(source: Path, target: Path) -> None:
    """The curves on log axes; prints them and their exponents as Markdown."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "zipfel"
    from matplotlib import pyplot as plt

    rows = [json.loads(line) for line in source.read_text().splitlines()]
    systems = list(dict.fromkeys(row["system"] for row in rows))
    figure, axes = plt.subplots(1, len(SHOWN), figsize=(14, 3.6))
    for axis, (key, title) in zip(axes, SHOWN, strict=True):
        for system in systems:
            own = sorted((r["labels"], r[key]) for r in rows if r["system"] == system and r["points"] >= r["labels"])
            axis.loglog(*zip(*own, strict=True), "o-", label=system, markersize=3)
        axis.set_title(title)
        axis.set_xlabel("labels")
        axis.grid(True, which="major", alpha=0.3)
    axes[0].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(target, metadata={"Date": None})
    print(
        "| system | labels | points | "
        + " | ".join(title for _, title in SHOWN)
        + " | P@1 |\n|"
        + "---|" * (len(SHOWN) + 4)
    )
    for row in sorted(rows, key=lambda row: (systems.index(row["system"]), row["labels"])):
        cells = " | ".join(f"{row[key]:,.1f}" for key, _ in SHOWN)
        print(f"| {row['system']} | {row['labels']:,} | {row['points']:,} | {cells} | {row['P@1']:.1f} |")
    for system in systems:
        own = [row for row in rows if row["system"] == system]
        print(f"{system}: " + ", ".join(f"{title} ~ L^{exponent(own, key):.2f}" for key, title in SHOWN))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labels", default=",".join(map(str, SIZES)))
    parser.add_argument("--systems", default="auto,quick,parabel")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--shape", choices=SHAPES, default="amazon-670k")
    parser.add_argument("--points-a-label", type=float, help="of the shape if left out; a tenth: 0.15")
    parser.add_argument("--limit", help="of memory for each system, e.g. 16GB")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--one", action="store_true", help="in this process: the first system and size only")
    parser.add_argument("--draw", type=Path, nargs=2, metavar=("JSONL", "SVG"))
    asked = parser.parse_args()
    if asked.draw:
        draw(*asked.draw)
        return
    sizes, systems = [int(size) for size in asked.labels.split(",")], asked.systems.split(",")
    if asked.one:
        print(json.dumps(measure(systems[0], sizes[0], asked.threads, asked.shape, asked.points_a_label)))
        return
    from zipfel.scale.resident import parse_bytes

    limit = parse_bytes(asked.limit) if asked.limit else None
    for size in sizes:
        for system in systems:
            words = ["--one", "--labels", str(size), "--systems", system, "--threads", str(asked.threads)]
            words += ["--shape", asked.shape]
            words += [] if asked.points_a_label is None else ["--points-a-label", str(asked.points_a_label)]
            line = run_within(limit, [sys.executable, "-m", "benchmarks.label_curve", *words])
            print(line, flush=True)
            if asked.out:
                with asked.out.open("a") as stream:
                    stream.write(line + "\n")


if __name__ == "__main__":
    main()
