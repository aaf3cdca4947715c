"""zipfel: extreme multi-label learning for people who have to ship it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

# Read when torch or faiss load OpenMP, and numpy OpenBLAS: hence here, before any of them, unless a program imports
# them before zipfel. By default their idle threads spin, OpenBLAS's for a fiftieth of a second after every product, and
# slow what our own threads, or other work, do on the same cores: training in small steps by up to 20 times. Sleeping
# threads cost some microseconds a call.
_CALM = {"OMP_WAIT_POLICY": "passive", "OPENBLAS_THREAD_TIMEOUT": "16"}  # 2^16 ticks instead of 2^26
CALMED = {name: value for name, value in _CALM.items() if name not in os.environ}
os.environ.update(CALMED)

__version__ = "0.1.0"

if TYPE_CHECKING:
    from zipfel import datasets
    from zipfel.classifier import Zipfel
    from zipfel.data import Dataset
    from zipfel.ranking import Ranking

__all__ = ["Dataset", "Ranking", "Zipfel", "__version__", "datasets"]

_LAZY = {"Zipfel": "zipfel.classifier", "Dataset": "zipfel.data", "Ranking": "zipfel.ranking"}


def __getattr__(name: str) -> Any:
    """Names are imported when first used, so that `zipfel --help` starts fast."""
    import importlib

    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    if name == "datasets":
        return importlib.import_module("zipfel.datasets")
    raise AttributeError(f"module 'zipfel' has no attribute {name!r}")
