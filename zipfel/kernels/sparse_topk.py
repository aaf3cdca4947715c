"""The k largest entries of each row of a sparse product A B, row by row, without ever forming the product.

Neighbour search (queries times an inverted index), votes (weights times the label matrix) and centroids (rows times
centroids) are all this one computation. For a row of A the matching rows of B are added into a dense accumulator; its
entries are then either all scanned, or only those that were touched, whichever is less work. A scan passes over
groups of columns of which none can be among the k best. `plain_topk` is the twin that the tests hold it to.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from numba import njit

from zipfel.kernels.topk import GROUP, find_peaks, low_bar, take_best
from zipfel.ranking import PAD, Ranking
from zipfel.threads import get_threads, over_blocks

_SCAN = 8
"""With more than 1/8 as many additions as columns, scanning all columns is cheaper than keeping a list."""
_PARTS_A_THREAD = 8


def sparse_topk(
    left: sp.csr_matrix, right: sp.csr_matrix, k: int, *, others: bool = False
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """(ids, scores), both (n, k): the largest non-zero entries of each row of left @ right, best first.

    others: not that on the diagonal, where columns stand for the rows themselves.

    Equal scores go to the lowest id; a row with fewer than k non-zero entries is padded with -1 and -inf. Columns of
    `left` that have no row in `right` count nothing, so their widths need not agree.
    """
    n, n_columns = left.shape[0], right.shape[1]
    ids = np.full((n, k), PAD, dtype=np.int64)
    scores = np.full((n, k), -np.inf, dtype=np.float32)
    if n == 0 or k == 0 or n_columns == 0:
        return ids, scores
    a, b = kernel_arrays(left), kernel_arrays(right)

    def work(start: int, stop: int) -> None:
        sums = np.zeros(-(-n_columns // GROUP) * GROUP, dtype=np.float32)
        touched = np.empty(len(sums), dtype=np.int32)  # no list has as many additions
        _topk_rows(*a, *b, start, stop, others, sums, touched, ids, scores)

    over_blocks(work, n, parts=max(1, min(_PARTS_A_THREAD * get_threads(), n // 16)))
    return ids, scores


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
        matrix.indptr.astype(np.int64, copy=False),
        matrix.indices.astype(np.int32, copy=False).view(np.uint32),
        matrix.data.astype(np.float32, copy=False),
    )


@njit(cache=True, nogil=True)
def _topk_rows(a_ptr, a_ids, a_values, b_ptr, b_ids, b_values, start, stop, others, sums, touched, ids, scores):  # type: ignore[no-untyped-def]
    n_inner, n_columns, k = len(b_ptr) - 1, len(sums), ids.shape[1]
    peaks, sorting = np.empty(n_columns // GROUP, dtype=np.float32), np.empty(n_columns, dtype=np.float32)
    found, places = np.empty(n_columns, dtype=np.float32), np.empty(n_columns, dtype=np.int64)
    for row in range(start, stop):
        additions = 0
        for j in range(a_ptr[row], a_ptr[row + 1]):
            if a_ids[j] < n_inner:
                additions += b_ptr[a_ids[j] + 1] - b_ptr[a_ids[j]]
        scan = additions * _SCAN >= n_columns
        n_touched = 0
        for j in range(a_ptr[row], a_ptr[row + 1]):
            inner, value = a_ids[j], a_values[j]
            if inner >= n_inner or value == 0.0:
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
        best, best_scores = ids[row], scores[row]
        if scan:
            find_peaks(sums, peaks)
            bar = low_bar(peaks, k)
            if bar <= 0.0:
                bar = np.float32(-np.inf)
            n_found = 0
            for g in range(len(peaks)):
                if peaks[g] >= bar:
                    for column in range(g, n_columns, len(peaks)):
                        if sums[column] >= bar and sums[column] != 0.0:
                            found[n_found], places[n_found] = sums[column], column
                            n_found += 1
            take_best(found, places, n_found, best_scores, best, sorting)
            for column in range(n_columns):
                sums[column] = 0.0
        else:
            n_found = 0
            for i in range(n_touched):
                column = touched[i]
                found[n_found], places[n_found] = sums[column], column
                n_found += sums[column] != 0.0  # one that cancelled out half way comes twice, then as zero
                sums[column] = 0.0
            bar, n_good = low_bar(found[:n_found], k), 0
            for i in range(n_found):
                good = found[i] >= bar
                found[n_good], places[n_good] = found[i], places[i]
                n_good += good
            take_best(found, places, n_good, best_scores, best, sorting)
