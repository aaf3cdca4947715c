"""The same fit by one process and by the workers of a local Ray cluster: precision on test, seconds, whether the models
have the same bytes.

    python -m benchmarks.workers ../shared/data/debian-tags --methods auto/quick,glas [--workers 2] [--documents 4000]
                                 [--set KEY=VALUE] [--out benchmarks/results/workers.jsonl]

One process has one thread, and so has each worker. `training` are the seconds of the phases of the fit; `seconds` are
those of the whole command, with Ray's start. --documents: of train, the first so many; of test at most as many.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from zipfel.bench.runner import append_record

KS = (1, 3, 5)
Row = dict[str, Any]


def files_of(data: Path) -> tuple[Path, Path]:
    """(train, test): JSON lines where there are texts, else ready-made features."""
    for ending in ("jsonl.gz", "txt.gz", "txt"):
        if (data / f"train.{ending}").exists():
            return data / f"train.{ending}", data / f"test.{ending}"
    raise SystemExit(f"{data} has no train.jsonl.gz, train.txt.gz or train.txt")


def cut(source: Path, path: Path, n: int) -> Path:
    """The first n documents; the first line of a file of features tells their number, so it is mended."""
    opened = gzip.open if source.name.endswith(".gz") else open
    with opened(source, "rt", encoding="utf-8") as lines, path.open("w", encoding="utf-8") as out:
        if ".txt" in source.name:
            total, *rest = next(lines).split()
            n = min(n, int(total))
            out.write(" ".join([str(n), *rest]) + "\n")
        out.writelines(itertools.islice(lines, n))
    return path


def fitted(method: str, train: Path, test: Path, out: Path, workers: int | None, settings: list[str]) -> Row:
    """One fit, as a user types it."""
    name, _, preset = method.partition("/")
    words = ["fit", str(train), "--test", str(test), "--method", name, "--out", str(out), "--json", "--seed", "1"]
    words += ["--preset", preset] if preset else []
    words += ["--threads", "1"] + (["--workers", str(workers)] if workers else [])
    words += [word for setting in settings for word in ("--set", setting)]
    start = time.monotonic()
    found = subprocess.run([sys.executable, "-m", "zipfel", *words], check=True, stdout=subprocess.PIPE)
    told = json.loads(found.stdout)
    scores = {f"P@{k}": round(100 * told[f"P@{k}"], 2) for k in KS}
    training = round(sum(told["timings"].values()), 1)
    return {**scores, "training": training, "seconds": round(time.monotonic() - start, 1)}


def compared(data: Path, method: str, workers: int, documents: int | None, settings: list[str]) -> list[Row]:
    """A row for one process, and one for the workers."""
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        train, test = files_of(data)
        if documents is not None:
            ending = train.name.split(".")[1]
            train, test = (cut(f, folder / f"{f.name.split('.')[0]}.{ending}", documents) for f in (train, test))
        tensors = []
        for number in (None, workers):
            out = folder / f"model-{number}"
            row = {"data": data.name, "documents": documents, "method": method, "set": settings, "workers": number}
            row |= fitted(method, train, test, out, number, settings)
            tensors.append((out / "tensors.safetensors").read_bytes())
            rows.append(row)
        rows[1]["same_bytes"] = tensors[0] == tensors[1]
    return rows


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--methods", default="auto/quick")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--documents", type=int)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args(arguments)
    for data, method in itertools.product(given.data, given.methods.split(",")):
        for row in compared(data, method, given.workers, given.documents, given.set):
            print(json.dumps(row), flush=True)
            if given.out is not None:
                append_record(given.out, row)


if __name__ == "__main__":
    main()
