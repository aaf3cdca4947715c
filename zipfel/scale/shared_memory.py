"""Arrays of Ray's object store, which all workers of a machine read where they lie."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt


def writable(value: Any) -> Any:
    """Marks an array of the object store as writable for kernels; returns anything else unchanged.

    Ray marks its arrays as read-only. numba compiles each kernel a second time for those. The memory is the same;
    `Executor.map` forbids to write to it.
    """
    if not isinstance(value, np.ndarray) or value.flags.writeable or not value.size or not value.flags.c_contiguous:
        return value
    memory = (ctypes.c_char * value.nbytes).from_address(value.ctypes.data)
    seen: npt.NDArray[Any] = np.frombuffer(memoryview(memory), dtype=value.dtype).reshape(value.shape)
    memory._kept = value  # type: ignore[attr-defined]  # the memory lives as long as what looks at it
    return seen
