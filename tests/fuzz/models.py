"""Model folders with hostile content, checksums recomputed: they are refused in words or answer; nothing else.

One change a case, as JSON: {"method": "dxml", "path": ["config", "facts", "votes", "k"], "value": 1000000000} or
{"method": "knn", "path": ["arrays", "method.Y.indices"], "change": "first", "value": -1}. Cases that failed once are
kept in tests/corpus/models.jsonl, which tests replay.

    python -m tests.fuzz.models --seed 1 --cases 2000              # looks for new ones
    python -m tests.fuzz.models --replay tests/corpus/models.jsonl
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import sys
import time
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.contract import QUICK
from tests.fuzz.running import Outcome, run_cases, time_limit
from zipfel import Zipfel
from zipfel.errors import ZipfelError
from zipfel.estimator.saved_state import MISFITS, files_of, restored
from zipfel.methods import method_names
from zipfel.persistence import ModelFiles

CORPUS = Path(__file__).resolve().parents[1] / "corpus" / "models.jsonl"
SECONDS, MEGABYTES = 20, 2000
"""What one case may take, and all of them together beyond what the methods themselves take."""

WORDS = ["bike", "boat", "paint", "oil", "sail", "wheel", "chain", "mast", *(f"word{i}" for i in range(72))]
TEXTS = [f"{WORDS[i % 80]} and {WORDS[(i * 3 + i // 80) % 80]} number{i % 5}" for i in range(160)]
NAMES = [[WORDS[i % 80], WORDS[(i * 3 + i // 80) % 80]] for i in range(160)]
"""More labels than an index must have to be approximate."""
ASKED = ["a boat with a mast", "oil on the chain of a bike", "", "nothing known"]
VARIANTS = {f"astec-{kind}": ("astec", {"index": kind, "shortlist": 20}) for kind in ("hnsw", "ivfpq")}
"""Further models than one of each method."""

VALUES: list[Any] = [
    -1, 0, 1, 2, 3, 3000, 2**31 - 1, 2**31, 10**9, 2**63 - 1, -(2**63), 1e308, -1e308, float("nan"), float("inf"), 0.5,
    None, True, "x", "", [], {}, [1], "hnsw", "ivfpq", "exact", "cosine",
]  # fmt: skip
CHANGES = [
    "first",
    "last",
    "all",
    "shorter",
    "longer",
    "empty",
    "flat",
    "transposed",
    "reversed",
    "float",
    "int",
    "gone",
]


@cache
def files(name: str) -> ModelFiles:
    """The files of a small model, made in this process."""
    method, more = VARIANTS.get(name, (name, {}))
    model = Zipfel(method, threads=1, **{**QUICK.get(method, {}), **more}).fit(TEXTS, NAMES)
    made = files_of(model)
    config = json.loads(json.dumps(dict(made.config), default=lambda value: value.item()))
    return ModelFiles(config, dict(made.arrays), json.loads(json.dumps(dict(made.documents))))


def cases(seed: int, count: int, only: list[str]) -> Iterator[dict[str, Any]]:
    """Changes drawn at random, half of them in arrays."""
    rng = random.Random(seed)
    for _ in range(count):
        name = rng.choice(only or [*method_names(), *VARIANTS])
        made = files(name)
        if rng.random() < 0.5 and made.arrays:
            path = ["arrays", rng.choice(sorted(made.arrays))]
            yield {"method": name, "path": path, "change": rng.choice(CHANGES), "value": rng.choice(VALUES[:16])}
        else:
            part = rng.choice(["config", "config", "config", "documents"])
            path = [part, *_leaf(getattr(made, part), rng)]
            yield {"method": name, "path": path, "value": rng.choice(VALUES)}


def _leaf(value: Any, rng: random.Random) -> list[Any]:
    path: list[Any] = []
    while isinstance(value, dict | list) and value and (not path or rng.random() < 0.95):
        key = rng.choice(sorted(value) if isinstance(value, dict) else range(min(len(value), 50)))
        path.append(key)
        value = value[key]
    return path


def changed(case: dict[str, Any]) -> ModelFiles:
    made = files(case["method"])
    part, *path = case["path"]
    if part == "arrays":
        arrays = dict(made.arrays)
        arrays[path[0]] = _changed_array(np.array(arrays[path[0]]), case["change"], case["value"])
        if case["change"] == "gone":
            del arrays[path[0]]
        return ModelFiles(made.config, arrays, made.documents)
    parts = {"config": copy.deepcopy(dict(made.config)), "documents": copy.deepcopy(dict(made.documents))}
    inner: Any = parts[part]
    for key in path[:-1]:
        inner = inner[key]
    if path:
        inner[path[-1]] = case["value"]
    return ModelFiles(parts["config"], made.arrays, parts["documents"])


def _changed_array(array: npt.NDArray[Any], change: str, value: Any) -> npt.NDArray[Any]:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if change in ("first", "last", "all") and array.size:
            where = {"first": 0, "last": -1, "all": slice(None)}[change]
            array.reshape(-1)[where] = _fitting(value, array.dtype)
        elif change in ("float", "int"):
            array = array.astype(np.float64 if change == "float" else np.int64)
    shaped = {
        "shorter": lambda: array[:-1],
        "longer": lambda: np.concatenate([array, array[-1:]]),
        "empty": lambda: array[:0],
        "flat": lambda: array.reshape(-1),
        "transposed": lambda: array.T,
        "reversed": lambda: array[::-1],
    }
    return np.ascontiguousarray(shaped[change]()) if change in shaped and array.ndim else array


def _fitting(value: Any, dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "f":
        return dtype.type(value)
    info = np.iinfo(dtype) if dtype.kind in "iu" else None
    number = 0 if value != value else int(max(-1e30, min(1e30, value)))
    return bool(number) if info is None else dtype.type(max(info.min, min(info.max, number)))


def tried(case: dict[str, Any]) -> str:
    """What came of it: "refused", "answers", or what should not have happened."""
    try:
        model = restored(Zipfel, changed(case))
    except MemoryError:
        return "takes too much memory"
    except MISFITS:
        return "refused"
    try:
        _use(model)
    except ZipfelError:
        return "refused"
    except MemoryError:
        return "takes too much memory"
    except Exception as error:  # noqa: BLE001 - that is the question
        return f"{type(error).__name__}: {error}"[:100]
    return "answers"


def _use(model: Zipfel) -> None:
    model.predict(ASKED, k=3)
    model.predict(ASKED, k=10**6)
    if hasattr(model.method_, "explain"):
        model.explain(ASKED[0])
    if hasattr(model.method_, "partial_fit"):
        model.partial_fit(ASKED[:2], [["boat"], ["engine"]])
        model.predict(ASKED[:1], k=3)


def child(cases: list[dict[str, Any]]) -> None:
    """Tries each, telling on standard output what it is about to try and what came of it."""
    for name in sorted({case["method"] for case in cases}):
        _use(restored(Zipfel, files(name)))  # compiles
    for case in cases:
        print("try", json.dumps(case), flush=True)
        with time_limit(SECONDS):
            print("came", tried(case), flush=True)


def search(cases: list[dict[str, Any]]) -> list[Outcome]:
    """The cases that failed."""
    return [found for found in run_cases("tests.fuzz.models", cases, MEGABYTES) if not found.is_fine]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--methods", default="")
    parser.add_argument("--replay", type=Path)
    parser.add_argument("--child", action="store_true")
    options = parser.parse_args()
    if options.child:
        child([json.loads(line) for line in sys.stdin])
        return
    start = time.monotonic()
    given = (
        [json.loads(line) for line in options.replay.read_text().splitlines()]
        if options.replay
        else list(cases(options.seed, options.cases, options.methods.split(",") if options.methods else []))
    )
    failed = search(given)
    for found in failed:
        print(json.dumps(found.case), "#", found.came)
    print(f"{len(given)} cases, {len(failed)} failed, {time.monotonic() - start:.0f} s", file=sys.stderr)
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
