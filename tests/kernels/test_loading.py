"""Compiled kernels are loaded before they are called."""

import subprocess
import sys

LOADS = """
import zipfel.kernels.topk as topk
from zipfel.kernels.loading import load_kernels
import numpy as np
call = lambda: topk.sort_topk(np.zeros((1, 2), np.float32), np.zeros((1, 2), np.int64), 0, 1)
if {first}:
    call()
assert len(topk.sort_topk.overloads) == {first}
loaded = load_kernels()
assert loaded >= 1 and len(topk.sort_topk.overloads) >= 1, loaded
call()
print(len(topk.sort_topk.overloads))
"""


def test_what_was_compiled_before_is_loaded() -> None:
    for first in (1, 0):  # compiled, if need be, by one process, and loaded by the next
        done = subprocess.run([sys.executable, "-c", LOADS.format(first=first)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
