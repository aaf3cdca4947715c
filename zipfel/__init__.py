"""zipfel: extreme multi-label learning for people who have to ship it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zipfel.system.idle_threads import install

install()  # before numpy or torch are imported

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
