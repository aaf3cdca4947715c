"""The tests of compiled kernels, once more with every index checked."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ["kernels", "features", "linear", "neighbors", "index", "training", "data/test_rows_kernel.py"]


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS)
def test_no_kernel_leaves_its_arrays(folder: str, tmp_path: Path) -> None:
    """In a cache of its own, as code that was compiled without the check would be taken from the usual one."""
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-m",
        "not slow",
        "-p",
        "no:cacheprovider",
        f"tests/{folder}",
    ]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stdout[-3000:]
