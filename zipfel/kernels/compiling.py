"""Compiling kernels before a first run needs them: in several processes, into numba's cache on disk.

numba compiles a kernel at its first call, one after another. What a first fit will call is on record in
`first_run.json`, by method and kind of data, with the types of the arguments and the seconds that each took.
`scripts/record_kernels.py` makes it anew. A kernel that is not on record is compiled when it is called.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

RECORD = Path(__file__).with_name("first_run.json")
_WORTH = 1.5
"""Seconds of compiling from which on other processes are worth their start."""
_MOST_PROCESSES = 8
_IDLE = "import sys; from zipfel.kernels.compiling import compile_given; compile_given(sys.stdin)"

Entry = tuple[str, Any, float]
"""(module:kernel, types of the arguments as JSON, seconds)."""


def missing(profile: str) -> list[Entry]:
    """What a fit of this profile, such as "auto texts", calls and is not compiled yet for this processor."""
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return []
    record: Mapping[str, Sequence[Any]] = json.loads(RECORD.read_text(encoding="utf-8"))
    return [(name, types, seconds) for name, types, seconds in record.get(profile, ()) if not _is_kept(name, types)]


def seconds_of(entries: Sequence[Entry], processes: int) -> float:
    """About how long it takes: what the record says, which idle processors need."""
    return sum(seconds for *_, seconds in entries) / max(1, min(processes, _MOST_PROCESSES)) + 1.0


def is_worth_it(entries: Sequence[Entry]) -> bool:
    return sum(seconds for *_, seconds in entries) >= _WORTH


def compile_missing(entries: Sequence[Entry], processes: int, on_each: Callable[[], None]) -> None:
    """Compiles them in other processes. One that fails is left to the run, which compiles what it lacks."""
    parts = _shared_out(entries, max(1, min(processes, _MOST_PROCESSES)))
    workers = []
    for part in parts:
        worker = subprocess.Popen(
            [sys.executable, "-c", _IDLE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        )
        workers.append((worker, json.dumps(part)))
    try:
        for worker, given in workers:
            assert worker.stdin is not None  # it is a pipe
            worker.stdin.write(given)
            worker.stdin.close()
        for worker, _ in workers:
            for _line in worker.stdout or ():
                on_each()
    finally:
        for worker, _ in workers:
            worker.terminate()
            worker.wait()
            if worker.stdout is not None:
                worker.stdout.close()


def compile_given(given: Any) -> None:
    """The other process: compiles what it is given, and prints a line after each."""
    for name, types, _ in json.load(given):
        with contextlib.suppress(Exception):  # the run itself compiles it, and says what is wrong
            _kernel(name)
            _without_c_wrappers()
            _kernel(name).compile(decoded(types))
        print(name, flush=True)


def _without_c_wrappers() -> None:
    """Nobody calls kernels from C; to leave the wrappers for that out saves a sixteenth of the time."""
    for module in [module for name, module in sys.modules.items() if name.startswith("zipfel.")]:
        for kernel in vars(module).values():
            if hasattr(kernel, "targetoptions") and hasattr(kernel, "py_func"):
                kernel.targetoptions["no_cfunc_wrapper"] = True


def _shared_out(entries: Sequence[Entry], n: int) -> list[list[Entry]]:
    """Longest first, each to the process with the least to do; kernels of one module share much, and go together where
    they are short."""
    parts: list[list[Entry]] = [[] for _ in range(n)]
    loads = [0.0] * n
    for entry in sorted(entries, key=lambda entry: -entry[2]):
        least = loads.index(min(loads))
        parts[least].append(entry)
        loads[least] += entry[2]
    return [part for part in parts if part]


def _kernel(name: str) -> Any:
    module, _, kernel = name.partition(":")
    return getattr(importlib.import_module(module), kernel)


def _is_kept(name: str, types: Any) -> bool:
    """Whether numba has it on disk; True for one that there is no more."""
    try:
        kernel = _kernel(name)
        signature, processor = decoded(types), kernel.targetctx.codegen().magic_tuple()
        kept = kernel._cache._cache_file._load_index()
    except (AttributeError, ImportError, ValueError, OSError):
        return True
    return any(key[0] == signature and key[1] == processor for key in kept)


def encoded(types: Sequence[Any]) -> Any:
    """numba's types of a call as JSON; ValueError for kinds that no kernel here has."""
    kinds = _kinds()
    found = []
    for kind in types:
        if isinstance(kind, kinds.Array):
            found.append(["array", str(kind.dtype), kind.ndim, kind.layout, kind.mutable])
        elif isinstance(kind, kinds.NamedTuple | kinds.NamedUniTuple):
            made = kind.instance_class
            found.append(["tuple", f"{made.__module__}:{made.__name__}", encoded(kind.types)])
        elif isinstance(kind, kinds.Number | kinds.Boolean) and not isinstance(kind, kinds.Literal):
            found.append(["number", str(kind)])
        else:
            raise ValueError(f"{kind} cannot be kept on record")
    return found


def decoded(types: Any) -> tuple[Any, ...]:
    """The counterpart of `encoded`."""
    kinds = _kinds()
    found: list[Any] = []
    for kind, *rest in types:
        if kind == "array":
            dtype, ndim, layout, mutable = rest
            found.append(kinds.Array(_number(dtype), ndim, layout, readonly=not mutable))
        elif kind == "tuple":
            made, inner = _kernel(rest[0]), decoded(rest[1])
            alike = len(set(inner)) == 1
            found.append(kinds.NamedUniTuple(inner[0], len(inner), made) if alike else kinds.NamedTuple(inner, made))
        elif kind == "number":
            found.append(_number(rest[0]))
        else:
            raise ValueError(f"unknown kind {kind!r}")
    return tuple(found)


def _kinds() -> Any:
    return importlib.import_module("numba.core.types")


def _number(name: str) -> Any:
    kinds = _kinds()
    return kinds.boolean if name == "bool" else getattr(kinds, name)
