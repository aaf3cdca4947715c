"""Loading compiled kernels before they are called: numba does so at the first call of each, milliseconds apiece."""

from __future__ import annotations

import sys
from typing import Any

from numba.core.dispatcher import Dispatcher


def load_kernels() -> int:
    """Loads the compiled kernels of imported zipfel modules from the cache, and returns how many. As a compiled
    library's code is loaded when it is imported."""
    modules = [module for name, module in sys.modules.items() if name.startswith("zipfel.")]
    kernels = {id(kernel): kernel for module in modules for kernel in vars(module).values() if _is_kept(kernel)}
    return sum(_load(kernel) for kernel in kernels.values())


def _is_kept(kernel: object) -> bool:
    """A kernel whose code numba keeps on disk."""
    return isinstance(kernel, Dispatcher) and hasattr(getattr(kernel, "_cache", None), "_cache_file")


def _load(kernel: Any) -> int:
    """All of its variants for this processor."""
    processor = kernel.targetctx.codegen().magic_tuple()
    kept = [types for types, made_for, _ in kernel._cache._cache_file._load_index() if made_for == processor]
    for types in kept:
        kernel.compile(types)
    return len(kept)
