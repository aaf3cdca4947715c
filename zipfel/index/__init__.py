"""Search over vectors, one interface: exact, HNSW, and IVF-PQ with re-scoring; and neighbours' votes.

index = build_index(vectors, metric="cosine")       # exact where that is faster, else IVF-PQ tuned to a recall
ids, scores = index.search(queries, k)              # (n, k), best first; -1 and -inf pad
arrays, facts = index.state(); index = load_index(arrays, facts)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zipfel.index.base import Index
    from zipfel.index.build import build_index, load_index
    from zipfel.index.exact import ExactIndex

__all__ = ["ExactIndex", "Index", "build_index", "load_index"]

_HOMES = {"Index": "base", "build_index": "build", "load_index": "build", "ExactIndex": "exact"}


def __getattr__(name: str) -> Any:
    """Imported when first used: sparse search and votes do without torch, which takes a second to load."""
    import importlib

    if name not in _HOMES:
        raise AttributeError(f"module 'zipfel.index' has no attribute {name!r}")
    return getattr(importlib.import_module(f"zipfel.index.{_HOMES[name]}"), name)
