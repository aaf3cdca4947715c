"""Text that is larger than memory: packed, trained on and predicted within a limit; seconds and peaks of each step.

    python -m benchmarks.beyond_memory --gigabytes 20 --limit 4GB --from train.jsonl.gz [--folder /tmp/beyond]
                                       [--out benchmarks/results/beyond_memory.jsonl]

Documents are made of three of FILE's, texts and labels, until there are so many bytes. Peaks are the largest resident
set of each command (`wait4`). Where the user may make control groups (version 1), every command runs in one with the
limit, so that the system itself keeps to it; files that are mapped are reclaimed there, as they would be on a machine
of that size.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from zipfel.bench.runner import append_record

GROUPS = Path("/sys/fs/cgroup/memory")
PREDICTED = 2000
Row = dict[str, Any]


def make_file(source: str, path: Path, n_bytes: int) -> int:
    """Writes JSON lines until there are so many bytes; how many documents."""
    from zipfel.data import read

    data = read(source)
    assert data.texts is not None
    assert data.label_names is not None
    texts, names = list(data.texts), list(data.label_names)
    labels = [[names[j] for j in data.Y.indices[a:b]] for a, b in zip(data.Y.indptr, data.Y.indptr[1:], strict=False)]
    rng, n = np.random.default_rng(0), 0
    with path.open("w", encoding="utf-8") as file:
        while file.tell() < n_bytes:
            lines = []
            for rows in rng.integers(len(texts), size=(1000, 3)).tolist():
                document = {
                    "text": " ".join(texts[row] for row in rows),
                    "labels": sorted({label for row in rows for label in labels[row]}),
                }
                lines.append(json.dumps(document) + "\n")
            file.writelines(lines)
            n += len(lines)
    return n


@contextlib.contextmanager
def group(limit: int) -> Any:
    """A control group with the limit, as a function that the child calls; None where there can be none."""
    folder = GROUPS / f"zipfel-beyond-{os.getpid()}-{time.monotonic_ns()}"
    try:
        folder.mkdir()
        (folder / "memory.limit_in_bytes").write_text(str(limit))
    except OSError:
        yield None, None
        return
    try:
        yield lambda: (folder / "cgroup.procs").write_text("0"), folder
    finally:
        with contextlib.suppress(OSError):
            folder.rmdir()


def run(name: str, words: list[str], limit: int, out: Path | None = None) -> Row:
    """One command of zipfel, and what it took."""
    with group(limit) as (join, folder):
        start: float = time.monotonic()
        target: Any = subprocess.DEVNULL if out is None else out.open("wb")
        enter: Callable[[], object] | None = join
        process = subprocess.Popen([sys.executable, "-m", "zipfel", *words], stdout=target, preexec_fn=enter)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        row = {
            "step": name,
            "seconds": round(time.monotonic() - start, 1),
            "cpu_seconds": round(used.ru_utime + used.ru_stime, 1),
            "peak_mb": round(used.ru_maxrss * 1024 / 1e6),
            "in_group": folder is not None,
            "ok": process.returncode == 0,
        }
    print(json.dumps(row), flush=True)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=20)
    parser.add_argument("--limit", default="4GB")
    parser.add_argument("--from", dest="source", required=True)
    parser.add_argument("--folder", type=Path, default=Path("build/beyond"))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    from zipfel.scale.resident import parse_bytes

    folder, limit = asked.folder, parse_bytes(asked.limit)
    folder.mkdir(parents=True, exist_ok=True)
    texts, packed, model = folder / "documents.jsonl", folder / "packed", folder / "model"
    n = make_file(asked.source, texts, round(asked.gigabytes * 1e9))
    asking = folder / "asked.jsonl"
    with texts.open() as file, asking.open("w") as few:
        few.writelines(line for _, line in zip(range(PREDICTED), file, strict=False))
    words = ["data", "pack", str(texts), str(packed), "--workers", str(asked.workers)]
    rows = [run("pack", words, limit)]
    texts.unlink()
    words = ["fit", str(packed), "--preset", "quick", "--max-memory", asked.limit, "--out", str(model), "--seed", "1"]
    rows.append(run("fit", words, limit))
    rows.append(run("predict", ["predict", str(model), str(asking), "--json"], limit, folder / "answers.jsonl"))
    facts = json.loads((model / "config.json").read_text())["training"]
    summary = {
        "gigabytes": asked.gigabytes, "documents": n, "limit": limit, "plan": facts["memory"], "steps": rows,
        "answers": sum(1 for _ in (folder / "answers.jsonl").open()),
    }  # fmt: skip
    print(json.dumps(summary))
    if asked.out:
        append_record(asked.out, summary)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
