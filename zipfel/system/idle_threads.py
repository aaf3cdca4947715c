"""Threads of OpenMP and OpenBLAS that sleep while they have nothing to do.

By default idle threads spin; those of OpenBLAS spin for a fiftieth of a second after every product. Spinning slows
other threads on the same cores: training in small steps takes up to 20 times as long. Sleeping threads cost some
microseconds a call. The libraries read the setting from the environment when they are loaded. It is set only while
numpy, scipy.linalg, torch or faiss are imported, so child processes do not inherit it. What a program has imported
before zipfel, or has set itself, is left alone.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

SETTINGS = {"OMP_WAIT_POLICY": "passive", "OPENBLAS_THREAD_TIMEOUT": "16"}  # 2^16 ticks instead of 2^26
LIBRARIES = ("numpy", "scipy.linalg", "torch", "faiss")


@contextmanager
def _set() -> Iterator[None]:
    missing = {name: value for name, value in SETTINGS.items() if name not in os.environ}
    os.environ.update(missing)
    try:
        yield
    finally:
        for name in missing:
            os.environ.pop(name, None)


class _Finder(MetaPathFinder):
    """Finds the libraries as they would be found without it, and gives them a loader that makes the settings."""

    def __init__(self) -> None:
        self._asking = False

    def find_spec(
        self, name: str, _path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in LIBRARIES or self._asking:
            return None
        self._asking = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._asking = False
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader(Loader):
    def __init__(self, own: Loader) -> None:
        self._own = own

    def __getattr__(self, name: str) -> object:
        return getattr(self._own, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._own.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        module.__loader__ = self._own
        if spec is not None:
            spec.loader = self._own
        with _set():
            self._own.exec_module(module)


def install() -> None:
    """From now on the libraries are loaded with the settings."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
