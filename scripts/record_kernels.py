"""Makes zipfel/kernels/first_run.json: what a first fit, prediction and update compile, by method and kind of data.

python scripts/record_kernels.py [METHOD ...]      # takes about two minutes a method; others keep what is on record
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from zipfel.kernels.compiling import RECORD, encoded

METHODS = ("auto", "auto:quick", "knn", "centroid", "ova")
VERBS = ("fit", "predict", "update")


def record(method: str, data: str, verb: str, folder: str) -> list[tuple[str, Any, float]]:
    """The kernels that Python calls and that are compiled for it, with their types and seconds.

    verb: fit saves the model in the folder; the others load it. Each has a process and a cache of its own."""
    with tempfile.TemporaryDirectory() as cache:
        words = [sys.executable, __file__, "--one", method, data, verb, folder]
        done = subprocess.run(words, env={**os.environ, "NUMBA_CACHE_DIR": cache}, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    found: list[tuple[str, Any, float]] = json.loads(done.stdout.splitlines()[-1])
    return found


def record_here(method: str, data: str, verb: str, folder: str) -> None:
    found = _listened()
    from zipfel import Zipfel

    train, test = _data(data)
    found.clear()
    if verb == "fit":
        name, _, preset = method.partition(":")
        model = Zipfel(name, preset=preset or None, threads=1).fit(train)
        model.evaluate(test)
        model.save(folder, force=True)
    else:
        model = Zipfel.load(folder)
        if verb == "update":
            model.partial_fit(test)
    model.predict(test, k=5)
    print(json.dumps(found))


def _data(kind: str) -> tuple[Any, Any]:
    """Training and test documents, as texts or as rows of features."""
    from zipfel import datasets
    from zipfel.features import Vectorizer

    train, test = datasets.load("debian-tags")
    train, test = train.take(range(3000)), test.take(range(500))
    if kind == "texts":
        return train, test
    words = Vectorizer()
    train = replace(train, X=words.fit_transform(train.texts), texts=None)
    return train, replace(test, X=words.transform(test.texts), texts=None)


def _listened() -> list[tuple[str, Any, float]]:
    """What is compiled from now on; the list grows."""
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
    return found


def _write(told: dict[str, Any]) -> None:
    lines = (
        f" {json.dumps(name)}: [\n  " + ",\n  ".join(map(json.dumps, found)) + "\n ]" for name, found in told.items()
    )
    Path(RECORD).write_text("{\n" + ",\n".join(lines) + "\n}\n")


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        record_here(*sys.argv[2:])
        return
    from zipfel.methods import method_class

    told = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    for method in sys.argv[1:] or METHODS:
        able = hasattr(method_class(method.partition(":")[0]), "partial_fit")
        for data in ("texts", "rows"):
            with tempfile.TemporaryDirectory() as folder:
                for verb in VERBS if able else VERBS[:2]:
                    name = f"{method} {data}" if verb == "fit" else f"{method} {data} {verb}"
                    told[name] = record(method, data, verb, folder)
                    _write(told)
                    print(name, len(told[name]), sum(seconds for *_, seconds in told[name]), flush=True)


if __name__ == "__main__":
    main()
