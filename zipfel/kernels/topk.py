"""Running top-k: blocks of scores go in, each row keeps its best k, equal scores to the lowest id."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from zipfel.threads import over_blocks

Array = npt.NDArray[Any]


@njit(cache=True, nogil=True)
def sink(scores: Array, ids: Array, at: int, size: int) -> None:
    """Restores the heap below `at`; its root is the worst: the lowest score, of equal ones the highest id."""
    score, label = scores[at], ids[at]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        other = child + 1
        if other < size and (
            scores[other] < scores[child] or (scores[other] == scores[child] and ids[other] > ids[child])
        ):
            child = other
        if scores[child] > score or (scores[child] == score and ids[child] < label):
            break
        scores[at], ids[at] = scores[child], ids[child]
        at = child
    scores[at], ids[at] = score, label


@njit(cache=True, nogil=True)
def merge_topk(block: Array, offset: int, best: Array, ids: Array, start: int, stop: int) -> None:
    """Takes block (n, c), the scores of ids offset..offset+c, into the heaps best, ids (n, k) of rows start..stop.

    The heaps start as -inf, -1, and ids come in rising order. Plain twin: a full sort, in the tests.
    """
    k = best.shape[1]
    for i in range(start, stop):
        heap, names = best[i], ids[i]
        for j in range(block.shape[1]):
            if block[i, j] > heap[0]:  # an equal score comes with a higher id, so it stays out
                heap[0], names[0] = block[i, j], offset + j
                sink(heap, names, 0, k)


@njit(cache=True, nogil=True)
def sort_topk(best: Array, ids: Array, start: int, stop: int) -> None:
    """Heaps to rows, best first."""
    for i in range(start, stop):
        heap, names = best[i], ids[i]
        for size in range(best.shape[1] - 1, 0, -1):
            heap[0], heap[size] = heap[size], heap[0]
            names[0], names[size] = names[size], names[0]
            sink(heap, names, 0, size)


@njit(cache=True, nogil=True, fastmath=True)
def score_pairs(queries: Array, vectors: Array, places: Array, out: Array, start: int, stop: int) -> None:
    """out[i, c] = queries[i] . vectors[places[i, c]], -inf where the place is -1. Plain twin: an einsum."""
    for i in range(start, stop):
        for c in range(places.shape[1]):
            row = places[i, c]
            if row < 0:
                out[i, c] = -np.inf
                continue
            total = np.float32(0.0)
            for d in range(queries.shape[1]):
                total += queries[i, d] * vectors[row, d]
            out[i, c] = total


@njit(cache=True, nogil=True, fastmath=True)
def byte_scores(query: Array, codes: Array, scale: Array, out: Array) -> None:
    """out[i] = scale[i] * query . codes[i], of int8 codes (n, d): a quarter of the memory that float32 would move.
    Plain twin: the product with scale * codes."""
    for i in range(len(codes)):
        total = np.float32(0.0)
        for d in range(codes.shape[1]):
            total += query[d] * np.float32(codes[i, d])
        out[i] = total * scale[i]


def topk(scores: npt.NDArray[np.float32], k: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """(n, k) columns and values of each row's k best, best first; -1 and -inf where fewer are above -inf."""
    best = np.full((len(scores), k), -np.inf, dtype=np.float32)
    columns = np.full((len(scores), k), -1, dtype=np.int64)

    def work(start: int, stop: int) -> None:
        merge_topk(scores, 0, best, columns, start, stop)
        sort_topk(best, columns, start, stop)

    over_blocks(work, len(scores), parts=None if scores.size > 65_536 else 1)
    return columns, best
