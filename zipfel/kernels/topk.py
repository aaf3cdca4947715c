"""Running top-k: blocks of scores go in, each row keeps its best k, equal scores to the lowest id."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from zipfel.system.threads import over_blocks

Array = npt.NDArray[Any]
GROUP = 32
"""Columns in a group. A value that the peaks of k groups reach is a lower bound for the k best columns. With n groups,
the g-th has columns g, g + n, g + 2n and so on: so peaks are found many groups at a time."""
_HALVINGS = 12
"""Of the range in which that bar is looked for, at most."""
_SHORT = 8
"""Scores that are sorted by insertion."""


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
def sort_heap(heap: Array, names: Array) -> None:
    """A heap (k,) to a row, best first."""
    for size in range(len(heap) - 1, 0, -1):
        heap[0], heap[size] = heap[size], heap[0]
        names[0], names[size] = names[size], names[0]
        sink(heap, names, 0, size)


@njit(cache=True, nogil=True)
def sort_topk(best: Array, ids: Array, start: int, stop: int) -> None:
    """Heaps to rows, best first."""
    for i in range(start, stop):
        sort_heap(best[i], ids[i])


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})  # so that it looks at eight at a time; -inf may come
def find_peaks(scores: Array, peaks: Array) -> None:
    """(n,) the largest of each group of the scores, a multiple of n."""
    n = len(peaks)
    for g in range(n):
        peaks[g] = scores[g]
    for r in range(1, len(scores) // n if n else 0):
        row = scores[r * n : (r + 1) * n]
        for g in range(n):
            peaks[g] = row[g] if row[g] > peaks[g] else peaks[g]


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})
def _reached(values, bar):  # type: ignore[no-untyped-def]
    count = np.int32(0)
    for i in range(len(values)):
        count += np.int32(1) if values[i] >= bar else np.int32(0)
    return count


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})
def low_bar(values, k):  # type: ignore[no-untyped-def]
    """A threshold that k or slightly more of the values reach; -inf if there are fewer than k values.

    By halving: counting takes eight values at a time. To find the k-th largest itself is to guess a branch a value.
    """
    low, high = np.float32(np.inf), np.float32(-np.inf)
    for i in range(len(values)):
        value = values[i]
        high = value if value > high else high
        low = value if value < low and value > -np.inf else low
    if k == 0 or _reached(values, low) < k:
        return np.float32(-np.inf)
    for _ in range(_HALVINGS):
        middle = np.float32(0.5) * low + np.float32(0.5) * high
        reached = _reached(values, middle)
        if reached < k:
            high = middle
        else:
            low = middle
            if reached <= k + k // 4:
                break
    return low


@njit(cache=True, nogil=True)
def kth_largest(values, k):  # type: ignore[no-untyped-def]
    """Uses quickselect, which changes the order of the values."""
    low, high = 0, len(values) - 1
    while low < high:
        pivot, i, j = values[(low + high) // 2], low, high
        while i <= j:
            while values[i] > pivot:
                i += 1
            while values[j] < pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i, j = i + 1, j - 1
        if k - 1 <= j:
            high = j
        elif k - 1 >= i:
            low = i
        else:
            break
    return values[k - 1]


@njit(cache=True, nogil=True)
def _sort(scores: Array, ids: Array, n: int, spare: Array, spare_ids: Array) -> None:
    """The first n, largest score first, of equal ones the lowest id: short runs by insertion, then merged."""
    for start in range(0, n, _SHORT):
        for i in range(start + 1, min(start + _SHORT, n)):
            score, place, j = scores[i], ids[i], i - 1
            while j >= start and (scores[j] < score or (scores[j] == score and ids[j] > place)):
                scores[j + 1], ids[j + 1] = scores[j], ids[j]
                j -= 1
            scores[j + 1], ids[j + 1] = score, place
    width = _SHORT
    while width < n:
        for start in range(0, n, 2 * width):
            middle, stop = min(start + width, n), min(start + 2 * width, n)
            i, j = start, middle
            for t in range(start, stop):
                if j >= stop or (
                    i < middle and (scores[i] > scores[j] or (scores[i] == scores[j] and ids[i] < ids[j]))
                ):
                    spare[t], spare_ids[t] = scores[i], ids[i]
                    i += 1
                else:
                    spare[t], spare_ids[t] = scores[j], ids[j]
                    j += 1
        for t in range(n):
            scores[t], ids[t] = spare[t], spare_ids[t]
        width *= 2


@njit(cache=True, nogil=True)
def take_best(found: Array, places: Array, n: int, best: Array, ids: Array, sorting: Array) -> None:
    """Of n scores the best into best, ids (k,), best first, of equal ones the lowest place; what is behind them there
    stays. sorting: scratch of length n. A heap would take three times as long."""
    k = len(best)
    if k == 0:
        return
    if n > k:
        for i in range(n):
            sorting[i] = found[i]
        bar = kth_largest(sorting[:n], k)
        better = 0
        for i in range(n):
            if found[i] > bar:
                found[i], found[better] = found[better], found[i]
                places[i], places[better] = places[better], places[i]
                better += 1
        equal = better
        for i in range(better, n):
            if found[i] == bar:
                found[equal], places[equal] = bar, -places[i]
                equal += 1
        kth_largest(places[better:equal], k - better)  # now the lowest places are in front
        for i in range(better, k):
            places[i] = -places[i]
        n = k
    _sort(found, places, n, best, ids)
    for i in range(n):
        best[i], ids[i] = found[i], places[i]


@njit(cache=True, nogil=True)
def topk_row(row: Array, best: Array, ids: Array, found: Array, places: Array, sorting: Array) -> None:
    """The best columns of a row (c,) into best, ids (k,), best first, which are -inf, -1 before. A group of columns of
    which none can be among the k best is passed over. Scratch: places, sorting (c,), found (c,), one more a group."""
    n_groups, n = len(row) // GROUP, np.int64(0)
    peaks = found[len(found) - n_groups :]
    find_peaks(row[: GROUP * n_groups], peaks)
    bar = low_bar(peaks, len(best))
    for g in range(n_groups):
        if peaks[g] >= bar:
            n = _take_above(row, g, GROUP * n_groups, n_groups, bar, found, places, n)
    n = _take_above(row, GROUP * n_groups, len(row), np.int64(1), bar, found, places, n)  # what is left over
    take_best(found, places, n, best, ids, sorting)


@njit(cache=True, nogil=True)
def _take_above(row: Array, start: int, stop: int, step: int, bar: float, found: Array, places: Array, n: int) -> int:
    """Those of the columns start, start + step, ... that reach the bar, behind the n that are there; how many then."""
    for j in range(start, stop, step):
        if row[j] >= bar and row[j] > -np.inf:
            found[n], places[n] = row[j], j
            n += 1
    return n


@njit(cache=True, nogil=True)
def _topk_rows(scores: Array, best: Array, ids: Array, start: int, stop: int) -> None:
    """Rows start..stop of `topk`."""
    width = scores.shape[1]
    found, sorting = np.empty(width + width // GROUP, dtype=np.float32), np.empty(width, dtype=np.float32)
    places = np.empty(width, dtype=np.int64)
    for i in range(start, stop):
        topk_row(scores[i], best[i], ids[i], found, places, sorting)


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


def pair_products(
    queries: npt.NDArray[np.float32], vectors: npt.NDArray[np.float32], places: npt.NDArray[np.integer]
) -> npt.NDArray[np.float32]:
    """(n, c) inner products of each query (n, d) with the vectors (m, d) at its places (n, c); -inf where one is -1."""
    out = np.empty(places.shape, dtype=np.float32)
    over_blocks(lambda a, b: score_pairs(queries, vectors, places, out, a, b), len(places))
    return out


def topk(scores: npt.NDArray[np.float32], k: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """(n, k) columns and values of each row's k best, best first; -1 and -inf where fewer are above -inf. Scores must
    be numbers."""
    best = np.full((len(scores), k), -np.inf, dtype=np.float32)
    columns = np.full((len(scores), k), -1, dtype=np.int64)

    over_blocks(
        lambda a, b: _topk_rows(scores, best, columns, a, b), len(scores), parts=None if scores.size > 65_536 else 1
    )
    return columns, best
