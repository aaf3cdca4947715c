"""How long a model of about 1 GB takes to load, and what it takes of memory: mapped, and with its checksum compared.

    python -m benchmarks.loading [--scale 1.0] [--folder FOLDER] [--answer]

The model is made up: `auto` with the preset quick, fitted on few points, whose training set and classifiers are then
replaced by random ones of a large model's size: 1.2 million points, 135,000 features, 75 a point, 300,000 labels, and
350 weights a label. It answers nonsense, but loads as any other. Each kind of loading runs in a
process of its own, with the file in the system's cache. `--answer` also asks for one answer, for which the index of
words and the weights are unpacked; it takes 5 GB of memory.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

POINTS, FEATURES, FEATURES_A_POINT, LABELS, LABELS_A_POINT, WEIGHTS = 1_200_000, 135_000, 75, 300_000, 5, 350


def main() -> None:
    options = arguments()
    if options.load:
        print(json.dumps(loaded(Path(options.load), options.verify, options.answer)))
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder) / "model"
        subprocess.run([sys.executable, "-m", "benchmarks.loading", "--make", str(path), "--scale", str(options.scale)])
        more = ["first answer, s", "resident MB after it"] if options.answer else []
        header = ["loading", "s", "CPU s", "resident MB", *more]
        print(f"| {' | '.join(header)} |\n|" + "---|" * len(header))
        for name, words in (("mapped", []), ("checksum compared", ["--verify"])):
            command = [
                sys.executable,
                "-m",
                "benchmarks.loading",
                "--load",
                str(path),
                *words,
                *["--answer"] * options.answer,
            ]
            found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            print(f"| {name} | " + " | ".join(f"{value:.2f}" for value in found) + " |", flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--scale", type=float, default=1.0, help="share of the points and labels")
    parser.add_argument("--folder", type=Path, help="where the model is written meanwhile")
    parser.add_argument("--answer", action="store_true", help="measure the first answer, too")
    for hidden in ("--load", "--make"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    parser.add_argument("--verify", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.make:
        make(Path(options.make), options.scale)
        sys.exit()
    return options


def make(path: Path, scale: float) -> None:
    from zipfel import Zipfel
    from zipfel.data import Dataset, synth
    from zipfel.estimator.saved_state import files_of
    from zipfel.persistence import ModelFiles, folder_size, save_model

    n, n_labels = round(scale * POINTS), round(scale * LABELS)
    small = synth(500, FEATURES, 200, features_per_point=FEATURES_A_POINT, seed=0)
    wide = sp.csr_matrix((small.Y.data, small.Y.indices, small.Y.indptr), shape=(500, n_labels))
    files = files_of(Zipfel("auto", preset="quick", seed=1).fit(Dataset(Y=wide, X=small.X)))
    rng, start = np.random.default_rng(0), "method.part.classifiers."
    weights = rows(rng, n_labels, FEATURES, WEIGHTS)
    words, labels = rows(rng, n, FEATURES, FEATURES_A_POINT), rows(rng, n, n_labels, LABELS_A_POINT)
    kept = {name: array for name, array in files.arrays.items() if ".solved." not in name}  # a large model has none
    arrays: dict[str, Any] = {
        **kept,
        f"{start}indptr": weights[0],
        f"{start}features": weights[1],
        f"{start}weights": rng.integers(-127, 128, len(weights[1]), dtype=np.int8),
        f"{start}scale": np.full(n_labels, 0.01, dtype=np.float32),
        f"{start}bias": np.full(n_labels, -1, dtype=np.float32),
        "method.words.indptr": words[0],
        "method.words.features": words[1],
        "method.words.values": rng.integers(1, 256, len(words[1]), dtype=np.uint8),
        "method.Y.indptr": labels[0],
        "method.Y.indices": labels[1],
        "method.Y.data": np.ones(len(labels[1]), dtype=np.float32),
        "label_counts": np.bincount(labels[1], minlength=n_labels),
    }
    save_model(path, ModelFiles(files.config, arrays, files.documents))
    print(f"a model of {folder_size(path) / 1e6:,.0f} MB")


def rows(rng: np.random.Generator, n: int, width: int, size: int) -> tuple[Any, Any]:
    """(indptr, indices) of n rows, each with `size` rising columns."""
    steps = rng.integers(1, width // size, (n, size), dtype=np.int32)
    return np.arange(n + 1, dtype=np.int64) * size, (np.cumsum(steps, axis=1, dtype=np.int32) - 1).ravel()


def loaded(path: Path, verify: bool, answer: bool) -> list[float]:
    """Seconds, CPU seconds, resident megabytes more than before; the first answer's seconds, and megabytes then."""
    import zipfel.methods.auto  # noqa: F401 - importing is no part of loading
    from zipfel import Zipfel

    before = resident()
    clock, cpu = time.monotonic(), time.process_time()
    model = Zipfel.load(path, verify=verify or None)
    found = [time.monotonic() - clock, time.process_time() - cpu, resident() - before]
    if not answer:
        return found
    clock = time.monotonic()
    x = sp.csr_matrix((np.ones(30, np.float32), (np.zeros(30, int), 3 * np.arange(30))), shape=(1, FEATURES))
    model.predict(x, 5)
    return [*found, time.monotonic() - clock, resident() - before]


def resident() -> float:
    """Megabytes of this process, mapped files that were read included."""
    try:
        kilobytes = next(line for line in Path("/proc/self/status").read_text().splitlines() if "VmRSS" in line).split()
        return int(kilobytes[1]) / 1e3
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


if __name__ == "__main__":
    main()
