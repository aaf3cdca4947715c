"""The k largest entries of each row of a sparse product A B, row by row, without ever forming the product.

Neighbour search (queries times an inverted index), votes (weights times the label matrix) and centroids (rows times
centroids) are all this one computation. For a row of A, the matching rows of B are added into a dense accumulator. Then
all entries are scanned, or only the touched ones if that is less work. A scan skips groups of columns that cannot be
among the k best. Rows of B with many entries (the lists of frequent words) can be stored dense, see `Lists`. The
processor adds eight values of a dense row at a time, and one value of a sparse row. `plain_topk` is the twin that the
tests hold it to.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from numba import njit

from zipfel.kernels.sparse_rows import row_ends
from zipfel.kernels.topk import GROUP, find_peaks, low_bar, take_best
from zipfel.ranking import PAD, Ranking
from zipfel.system.threads import get_threads, over_blocks

_SCAN = 24
"""With more than 1/24 as many additions as columns, scanning all columns is cheaper than keeping a list."""
_FREQUENT = 8
"""A row of B that fills more than 1/8 of the columns is added faster as a dense one."""
_FEW_GROUPS = 4
"""Groups of columns for each that is looked for, below which single columns are looked at."""
_TOGETHER = 4
"""Dense rows that are added at once."""
_ROOM = 1 << 26
"""Numbers of dense rows at most (256 MB); the most frequent come first."""
_PARTS_A_THREAD = 8


@dataclass(frozen=True)
class Lists:
    """The right side of a product, ready to be searched many times. rows: (ptr, ids, values) of its CSR; place:
    (n_inner,) where each is among the dense ones, or -1, empty where none is dense; dense: (f, n_columns) those, padded
    to whole groups."""

    rows: tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32], npt.NDArray[np.float32]]
    place: npt.NDArray[np.int32]
    dense: npt.NDArray[np.float32]
    n_columns: int

    @classmethod
    def of(cls, right: sp.csr_matrix) -> Lists:
        """right: canonical. Rows that fill more than an eighth of the columns are kept as dense ones."""
        width = -(-right.shape[1] // GROUP) * GROUP
        return cls(kernel_arrays(right), *dense_rows(right, 1 / _FREQUENT, width), int(right.shape[1]))

    @classmethod
    def plain(cls, right: sp.csr_matrix) -> Lists:
        """With no dense rows; takes no time."""
        none = np.empty(0, dtype=np.int32), np.empty((0, 0), dtype=np.float32)
        return cls(kernel_arrays(right), *none, int(right.shape[1]))


def dense_rows(right: sp.csr_matrix, share: float, width: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    """Rows of a canonical CSR that fill more than this share of its columns, the most frequent where there is no room
    for all: (n_inner,) where each is among them, or -1, and (f, width) themselves."""
    ptr, ids, values = kernel_arrays(right)
    lengths = np.diff(ptr)
    chosen = np.flatnonzero(lengths > share * right.shape[1])
    chosen = np.sort(chosen[np.argsort(-lengths[chosen], kind="stable")][: _ROOM // max(1, width)])
    place = np.full(len(lengths), -1, dtype=np.int32)
    place[chosen] = np.arange(len(chosen))
    dense = np.zeros((len(chosen), width), dtype=np.float32)
    for i, row in enumerate(chosen):  # one by one: all at once they would be there twice
        dense[i, ids[ptr[row] : ptr[row + 1]]] = values[ptr[row] : ptr[row + 1]]
    return place, dense


def sparse_topk(
    left: sp.csr_matrix, right: sp.csr_matrix | Lists, k: int, *, others: bool = False
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """(ids, scores), both (n, k): the largest non-zero entries of each row of left @ right, best first.

    others: not that on the diagonal, where columns stand for the rows themselves.

    Equal scores go to the lowest id; a row with fewer than k non-zero entries is padded with -1 and -inf. Columns of
    `left` that have no row in `right` count nothing, so their widths need not agree.
    """
    lists = right if isinstance(right, Lists) else Lists.plain(right)
    n, n_columns = left.shape[0], lists.n_columns
    ids = np.full((n, k), PAD, dtype=np.int64)
    scores = np.full((n, k), -np.inf, dtype=np.float32)
    if n == 0 or k == 0 or n_columns == 0:
        return ids, scores
    rows = kernel_arrays(left)

    def work(start: int, stop: int) -> None:
        sums, touched = _scratch(-(-n_columns // GROUP) * GROUP)
        _topk_rows(*rows, *lists.rows, lists.place, lists.dense, start, stop, others, sums, touched, ids, scores)

    over_blocks(work, n, parts=max(1, min(_PARTS_A_THREAD * get_threads(), n // 16)))
    return ids, scores


_kept = threading.local()
_MOST_KEPT = 1 << 22


def _scratch(n: int) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int32]]:
    """(n,) zeros, which the kernel leaves as zeros, and (n,) of any values. Each thread keeps its own: the system takes
    longer to hand out new memory than the search for one document takes."""
    found: tuple[npt.NDArray[np.float32], npt.NDArray[np.int32]] | None = getattr(_kept, "arrays", None)
    if found is None or len(found[0]) < n:
        found = np.zeros(n, dtype=np.float32), np.empty(n, dtype=np.int32)  # no list has as many additions
        if n <= _MOST_KEPT:
            _kept.arrays = found
    return found[0][:n], found[1][:n]


def plain_topk(
    left: sp.csr_matrix, right: sp.csr_matrix, k: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """`sparse_topk` in scipy: forms the product, so only for tests."""
    product = sp.csr_matrix(left @ right)
    product.eliminate_zeros()
    ranking = Ranking.from_csr(product, k)
    return ranking.labels, ranking.scores


def kernel_arrays(
    matrix: sp.csr_matrix,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32], npt.NDArray[np.float32]]:
    """One set of types, so that the kernel is compiled once; unsigned, since a signed index may count from the end."""
    return (
        row_ends(matrix),
        matrix.indices.astype(np.int32, copy=False).view(np.uint32),
        matrix.data.astype(np.float32, copy=False),
    )


@njit(cache=True, nogil=True, fastmath={"contract"})  # so that it multiplies and adds in one
def _add_dense(dense, chosen, weights, n, sums):  # type: ignore[no-untyped-def]
    """sums += weights[:n] @ dense[chosen[:n]]; all that there is room for at once: sums are read and written less."""
    if n == _TOGETHER:
        p, q, r, s = dense[chosen[0]], dense[chosen[1]], dense[chosen[2]], dense[chosen[3]]
        a, b, c, d = weights[0], weights[1], weights[2], weights[3]
        for column in range(len(sums)):
            sums[column] += a * p[column] + b * q[column] + c * r[column] + d * s[column]
    else:
        for i in range(n):
            p, a = dense[chosen[i]], weights[i]
            for column in range(len(sums)):
                sums[column] += a * p[column]


@njit(cache=True, nogil=True)
def _add_frequent(a_ids, a_values, b_ptr, place, dense, chosen, weights, sums):  # type: ignore[no-untyped-def]
    """Adds those rows of B that are kept as dense ones. How many additions a row of A takes, theirs too."""
    additions, n = 0, np.int64(0)
    for j in range(len(a_ids)):
        inner = a_ids[j]
        if inner >= len(b_ptr) - 1:
            continue
        if len(place) == 0 or place[inner] < 0:
            additions += b_ptr[inner + 1] - b_ptr[inner]
            continue
        additions += len(sums)
        chosen[n], weights[n] = place[inner], a_values[j]
        n += 1
        if n == _TOGETHER:
            _add_dense(dense, chosen, weights, n, sums)
            n = np.int64(0)
    _add_dense(dense, chosen, weights, n, sums)
    return additions


@njit(cache=True, nogil=True)
def _find_scanned(sums, peaks, k, found, places):  # type: ignore[no-untyped-def]
    """How many of all columns may be among the k best: their sums are found, their places too. No sum is left."""
    n_found, n_columns = 0, len(sums)
    find_peaks(sums, peaks)
    bar = low_bar(peaks, k)
    bar = bar if bar > 0.0 else np.float32(-np.inf)
    for g in range(len(peaks)):
        if peaks[g] >= bar:
            for column in range(g, n_columns, len(peaks)):
                if sums[column] >= bar and sums[column] != 0.0:
                    found[n_found], places[n_found] = sums[column], column
                    n_found += 1
    for column in range(n_columns):
        sums[column] = 0.0
    return n_found


@njit(cache=True, nogil=True)
def _find_touched(sums, touched, k, found, places):  # type: ignore[no-untyped-def]
    """The same, where only the columns that were touched have a sum."""
    n_found = 0
    for column in touched:
        found[n_found], places[n_found] = sums[column], column
        n_found += sums[column] != 0.0  # one that cancelled out half way comes twice, then as zero
        sums[column] = 0.0
    bar, n_good = low_bar(found[:n_found], k), 0
    for i in range(n_found):
        good = found[i] >= bar
        found[n_good], places[n_good] = found[i], places[i]
        n_good += good
    return n_good


@njit(cache=True, nogil=True)
def _topk_rows(  # type: ignore[no-untyped-def]
    a_ptr, a_ids, a_values, b_ptr, b_ids, b_values, place, dense, start, stop, others, sums, touched, ids, scores
):
    n_inner, n_columns, k, has_dense = len(b_ptr) - 1, len(sums), ids.shape[1], len(place) > 0
    group = GROUP
    while group > 1 and n_columns < _FEW_GROUPS * k * group:
        group //= 2
    peaks, sorting = np.empty(n_columns // group, dtype=np.float32), np.empty(n_columns, dtype=np.float32)
    found, places = np.empty(n_columns, dtype=np.float32), np.empty(n_columns, dtype=np.int64)
    chosen, weights = np.empty(_TOGETHER, dtype=np.int64), np.empty(_TOGETHER, dtype=np.float32)
    for row in range(start, stop):
        its_ids, its_values = a_ids[a_ptr[row] : a_ptr[row + 1]], a_values[a_ptr[row] : a_ptr[row + 1]]
        additions = _add_frequent(its_ids, its_values, b_ptr, place, dense, chosen, weights, sums)
        scan = additions * _SCAN >= n_columns
        n_touched = 0
        for j in range(len(its_ids)):
            inner, value = its_ids[j], its_values[j]
            if inner >= n_inner or value == 0.0 or (has_dense and place[inner] >= 0):
                continue
            if scan:
                for t in range(b_ptr[inner], b_ptr[inner + 1]):
                    sums[b_ids[t]] += value * b_values[t]
            else:
                for t in range(b_ptr[inner], b_ptr[inner + 1]):
                    column = b_ids[t]
                    touched[n_touched] = column
                    n_touched += sums[column] == 0.0  # no branch: which columns are new cannot be guessed
                    sums[column] += value * b_values[t]
        if others and row < n_columns:
            sums[row] = 0.0
        if scan:
            n_found = _find_scanned(sums, peaks, k, found, places)
        else:
            n_found = _find_touched(sums, touched[:n_touched], k, found, places)
        take_best(found, places, n_found, scores[row], ids[row], sorting)
