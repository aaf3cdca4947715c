"""A first run's kernels are compiled beforehand, by other processes."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from zipfel.kernels import compiling
from zipfel.kernels.compiling import RECORD, decoded, encoded, seconds_of

CHILD = """
import sys
from zipfel.kernels import compiling
name = "zipfel.kernels.sparse_rows:_lengths"
entries = [e for e in compiling.missing("knn texts") + compiling.missing("auto texts") if e[0] == name][:1]
told = []
assert len(entries) == 1
compiling.compile_missing(entries, 2, lambda: told.append(1))
assert told == [1]
assert not [e for e in compiling.missing("auto texts") if e[0] == name]
kernel = compiling._kernel(name)
kernel.compile(compiling.decoded(entries[0][1]))
assert sum(kernel.stats.cache_hits.values()) == 1, kernel.stats
"""


def test_types_are_kept_as_json() -> None:
    from numba import typeof, types

    from zipfel.features._text_kernel import Rows

    rows = Rows(np.zeros(2, np.int64), np.zeros(2, np.int32), np.zeros(2, np.int32))
    frozen = np.zeros((2, 2), np.float32)
    frozen.flags.writeable = False
    signature = tuple(typeof(x) for x in (rows, frozen, np.zeros((2, 2), order="F"), 3, 0.5, True))
    assert decoded(json.loads(json.dumps(encoded(signature)))) == signature
    with pytest.raises(ValueError, match="cannot be kept"):
        encoded((types.unicode_type,))


def test_the_record_is_of_the_kernels_as_they_are() -> None:
    """A stale entry is never found compiled, and so is announced at every run."""
    entries = [entry for entries in json.loads(RECORD.read_text()).values() for entry in entries]
    stale = {name for name, types, _ in entries if _parameters(name) != len(types)}
    assert not stale, "run scripts/record_kernels.py"


def _parameters(name: str) -> int | None:
    """How many a kernel takes; None where there is no such kernel."""
    try:
        return len(inspect.signature(compiling._kernel(name).py_func).parameters)
    except (ImportError, AttributeError):
        return None


def test_other_processes_compile_into_the_cache(tmp_path: Path) -> None:
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", CHILD], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_nothing_is_missing_of_what_is_unknown_or_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not compiling.missing("no such method texts")
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert not compiling.missing("auto texts")


def test_the_estimate_falls_with_the_processes() -> None:
    entries = [("a:b", [], 3.0), ("a:c", [], 5.0)]
    assert seconds_of(entries, 1) == 9.0
    assert seconds_of(entries, 2) == 5.0
    parts = compiling._shared_out(entries, 4)
    assert sorted(part[0][0] for part in parts) == ["a:b", "a:c"]
