"""Makes zipfel/kernels/first_run.json: what a first fit compiles, by method and kind of data.

python scripts/record_kernels.py [METHOD ...]      # takes about a minute a method; others keep what is on record
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from zipfel.kernels.compiling import RECORD, encoded

METHODS = ("auto", "auto:quick", "knn", "centroid", "ova")


def record(method: str, data: str) -> list[tuple[str, Any, float]]:
    """The kernels that a fit and a prediction compile which Python calls, with their types and seconds."""
    with tempfile.TemporaryDirectory() as cache:
        words = [sys.executable, __file__, "--one", method, data]
        done = subprocess.run(words, env={**os.environ, "NUMBA_CACHE_DIR": cache}, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def record_here(method: str, data: str) -> None:
    from numba.core import event

    found: list[tuple[str, Any, float]] = []

    class Listener(event.Listener):
        def __init__(self) -> None:
            self.starts: list[float] = []

        def on_start(self, told: Any) -> None:  # noqa: ARG002 - numba's
            self.starts.append(time.process_time())

        def on_end(self, told: Any) -> None:
            seconds = time.process_time() - self.starts.pop()
            kernel = told.data["dispatcher"].py_func
            if not self.starts and kernel.__module__.startswith("zipfel."):
                try:
                    types = encoded(told.data["args"])
                except ValueError as error:
                    print(error, file=sys.stderr)
                    return
                found.append((f"{kernel.__module__}:{kernel.__name__}", types, round(seconds, 2)))

    event.register("numba:compile", Listener())
    from dataclasses import replace

    from zipfel import Zipfel, datasets
    from zipfel.features import Vectorizer

    train, test = datasets.load("debian-tags")
    train, test = train.take(range(3000)), test.take(range(500))
    if data == "rows":
        words = Vectorizer()
        train = replace(train, X=words.fit_transform(train.texts), texts=None)
        test = replace(test, X=words.transform(test.texts), texts=None)
        found.clear()
    name, _, preset = method.partition(":")
    model = Zipfel(name, preset=preset or None, threads=1).fit(train)
    model.evaluate(test)
    model.predict(test, k=5)
    print(json.dumps(found))


def _write(told: dict[str, Any]) -> None:
    lines = (
        f" {json.dumps(name)}: [\n  " + ",\n  ".join(map(json.dumps, found)) + "\n ]" for name, found in told.items()
    )
    Path(RECORD).write_text("{\n" + ",\n".join(lines) + "\n}\n")


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        record_here(*sys.argv[2:])
        return
    told = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    for method in sys.argv[1:] or METHODS:
        for data in ("texts", "rows"):
            told[f"{method} {data}"] = record(method, data)
            _write(told)
            print(method, data, len(told[f"{method} {data}"]), sum(e[2] for e in told[f"{method} {data}"]))


if __name__ == "__main__":
    main()
