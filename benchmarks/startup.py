"""How long zipfel keeps one waiting before it works: `--help`, and the first command after installation.

python -m benchmarks.startup

The baseline of `--help` is importing the two packages that print it. The first command is a fit and an evaluation on
a few documents with an empty kernel cache; what it takes longer than the second is compilation. Seconds are those of
the processor, best of several: on an idle machine the same as those on the wall, and a busy one does not spoil them.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks import Bar
from zipfel.cli.options import DEFAULT_METHOD

ZIPFEL = (sys.executable, "-m", "zipfel")
BASELINE = (sys.executable, "-c", "import typer, rich")
TIMES, COLD_TIMES = 7, 2


def main() -> list[Bar]:
    baseline, shown = help_seconds()
    print(f"import typer, rich: {baseline:.2f} s; zipfel --help: {shown:.2f} s")
    bars = [Bar("zipfel --help, against import typer, rich", shown / baseline, 3, at_least=False)]
    for method in dict.fromkeys(("knn", DEFAULT_METHOD)):
        first, second, compiled = first_and_second(method)
        print(
            f"fit and evaluate {method}, empty cache: {first:.2f} s; then: {second:.2f} s, {compiled} kernels compiled"
        )
        bars += [
            Bar(f"first {method} fit, compilation", first - second, 5, at_least=False, unit="s"),
            Bar(f"second {method} fit, kernels compiled", compiled, 0, at_least=False, unit=""),
        ]
    return bars


def help_seconds() -> tuple[float, float]:
    """(baseline, zipfel --help), in turns so that both see the same machine."""
    pairs = [(seconds(BASELINE), seconds((*ZIPFEL, "--help"))) for _ in range(TIMES)]
    return min(pair[0] for pair in pairs), min(pair[1] for pair in pairs)


def first_and_second(method: str) -> tuple[float, float, int]:
    """(seconds with an empty kernel cache, seconds after that, kernels that the second run compiled)."""
    firsts, seconds_, compiled = [], [], 0
    with tempfile.TemporaryDirectory() as folder:
        data = documents(Path(folder))
        for turn in range(COLD_TIMES):
            cache = Path(folder, f"cache-{turn}")
            command = (*ZIPFEL, "fit", str(data), "--test", str(data), "--method", method)
            command = (*command, "--out", str(Path(folder, "model")), "--json")
            firsts.append(seconds(command, cache))
            before = n_kernels(cache)
            seconds_.append(seconds(command, cache))
            compiled = max(compiled, n_kernels(cache) - before)
    return min(firsts), min(seconds_), compiled


def documents(folder: Path) -> Path:
    words = ["red", "blue", "green", "fast", "slow", "bike", "boat", "train", "plane", "car", "old", "new", "large"]
    lines = [
        {"text": " ".join(words[(i * step) % len(words)] for step in range(1, 9)), "labels": [words[i % len(words)]]}
        for i in range(140)
    ]
    file = folder / "documents.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in lines) + "\n", encoding="utf-8")
    return file


def n_kernels(cache: Path) -> int:
    """numba keeps a file for each compiled kernel."""
    return sum(1 for _ in cache.rglob("*.nbc"))


def seconds(command: Sequence[str], cache: Path | None = None) -> float:
    environment = {**os.environ, **({"NUMBA_CACHE_DIR": str(cache)} if cache else {})}
    before = processor_seconds()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"{' '.join(command)} failed: {done.stderr.strip()[-500:]}")
    return processor_seconds() - before


def processor_seconds() -> float:
    """Of all programs that were started and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
