"""Search over vectors, one interface: exact, HNSW, and IVF-PQ with re-scoring; and neighbours' votes.

index = build_index(vectors, metric="cosine")       # exact where that is faster, else IVF-PQ tuned to a recall
ids, scores = index.search(queries, k)              # (n, k), best first; -1 and -inf pad
arrays, facts = index.state(); index = load_index(arrays, facts)
"""

from zipfel.index.base import Index
from zipfel.index.build import build_index, load_index
from zipfel.index.exact import ExactIndex

__all__ = ["ExactIndex", "Index", "build_index", "load_index"]
