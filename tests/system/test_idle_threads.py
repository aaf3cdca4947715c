"""Libraries are loaded with calm threads; the environment of a program and of its children stays as it was."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from zipfel.system.idle_threads import LIBRARIES, SETTINGS

CODE = """
import builtins, os, subprocess, sys
before = dict(os.environ)
seen = {}
import zipfel
class Spy:
    def find_spec(self, name, path=None, target=None):
        if name in ("numpy._core", "numpy.core", "scipy.linalg.blas", "torch._C", "faiss.loader"):
            seen[name.partition(".")[0]] = os.environ.get("OMP_WAIT_POLICY")
sys.meta_path.insert(0, Spy())
import numpy, scipy.linalg
try:
    import torch, faiss
except ImportError:
    pass
assert dict(os.environ) == before
child = subprocess.run([sys.executable, "-c", "import os; print(sorted(os.environ))"], capture_output=True, text=True)
assert "OPENBLAS_THREAD_TIMEOUT" not in child.stdout
assert numpy.__spec__.loader is numpy.__loader__ and "calm" not in type(numpy.__loader__).__module__
print(sorted(set(seen.values()), key=str), len(seen) > 1)
"""


@pytest.mark.parametrize(("given", "seen"), [({}, "passive"), ({"OMP_WAIT_POLICY": "active"}, "active")])
def test_only_while_they_are_loaded(given: dict[str, str], seen: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in SETTINGS} | given
    done = subprocess.run([sys.executable, "-c", CODE], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == f"['{seen}'] True"


def test_a_library_that_is_not_there_is_still_not_there() -> None:
    code = (
        f"import sys; sys.path = [p for p in sys.path if 'site-packages' not in p] + [{str(Path.cwd())!r}]; "
        "import zipfel, importlib.util; print([importlib.util.find_spec(n) for n in ('torch', 'faiss')])"
    )
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[None, None]", done.stderr
    assert "numpy" in LIBRARIES
