"""Random walks over a graph in CSR form; every walk draws from a stream of its own, so threads do not change it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from zipfel.system.threads import over_blocks

Ints = npt.NDArray[np.int64]


def random_walks(
    indptr: Ints,
    indices: npt.NDArray[np.int32],
    cumulative: npt.NDArray[np.float32],
    starts: npt.NDArray[np.int32],
    length: int,
    seed: int,
) -> npt.NDArray[np.int32]:
    """(n, length) node ids: walk i begins at starts[i] and goes to a neighbour at every step.

    cumulative: running sum of the edge weights within each row, or empty where all edges weigh the same.
    A node without neighbours stays where it is: its walk is of itself.
    """
    walks = np.empty((len(starts), length), dtype=np.int32)

    def work(begin: int, end: int) -> None:
        _walk(indptr, indices, cumulative, starts, np.uint64(seed), walks, begin, end)

    over_blocks(work, len(starts))
    return walks


@njit(cache=True, nogil=True, inline="always")
def mix(state):  # type: ignore[no-untyped-def]
    """Splitmix64's finaliser: 64 well-mixed bits of a counter."""
    z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True, nogil=True)
def _walk(indptr, indices, cumulative, starts, seed, walks, begin, end):  # type: ignore[no-untyped-def]
    golden = np.uint64(0x9E3779B97F4A7C15)
    length = walks.shape[1]
    for i in range(begin, end):
        state = mix(seed + np.uint64(i + 1) * golden)
        node = starts[i]
        walks[i, 0] = node
        for step in range(1, length):
            first = indptr[node]
            degree = indptr[node + 1] - first
            if degree > 0:
                state += golden
                uniform = np.float64(mix(state) >> np.uint64(11)) * (1.0 / 9007199254740992.0)
                if len(cumulative) == 0:
                    node = indices[first + np.int64(uniform * degree)]
                else:
                    target = uniform * cumulative[first + degree - 1]
                    low, high = first, first + degree - 1
                    while low < high:
                        middle = (low + high) >> 1
                        if cumulative[middle] > target:
                            high = middle
                        else:
                            low = middle + 1
                    node = indices[low]
            walks[i, step] = node


def random_walks_by_points(
    points: tuple[Ints, npt.NDArray[np.int32]],
    by_label: tuple[Ints, npt.NDArray[np.int32]],
    starts: npt.NDArray[np.int32],
    length: int,
    seed: int,
) -> npt.NDArray[np.int32]:
    """(n, length) label ids: walk i begins at starts[i] and goes to a label that shares a point with the last one.

    points: indptr and rising indices of Y, labels by point; by_label: those of its transpose. A step draws one of the
    label's points in proportion to |y| - 1, then one of the point's other labels. The result is in proportion to the
    number of points that two labels share, without computing Y'Y. A label without company stays where it is.
    """
    weights = np.maximum(np.diff(points[0]) - 1, 0)[by_label[1]]
    total = np.concatenate([[0], np.cumsum(weights, dtype=np.int64)])
    walks = np.empty((len(starts), length), dtype=np.int32)

    def work(begin: int, end: int) -> None:
        _walk_by_points(*points, *by_label, total, starts, np.uint64(seed), walks, begin, end)

    over_blocks(work, len(starts))
    return walks


@njit(cache=True, nogil=True)
def _walk_by_points(indptr, labels, by_indptr, by_points, total, starts, seed, walks, begin, end):  # type: ignore[no-untyped-def]
    golden = np.uint64(0x9E3779B97F4A7C15)
    for i in range(begin, end):
        state = mix(seed + np.uint64(i + 1) * golden)
        label = starts[i]
        walks[i, 0] = label
        for step in range(1, walks.shape[1]):
            first, last = by_indptr[label], by_indptr[label + 1]
            weight = total[last] - total[first]
            if weight > 0:
                state += golden
                target = total[first] + np.int64(mix(state) % np.uint64(weight))
                low, high = first, last - 1
                while low < high:  # the point whose share of the weights holds the target
                    middle = (low + high) >> 1
                    if total[middle + 1] > target:
                        high = middle
                    else:
                        low = middle + 1
                begins = indptr[by_points[low]]
                place = begins + target - total[low]  # uniform over the |y| - 1 other labels
                label = labels[place] if labels[place] < label else labels[place + 1]
            walks[i, step] = label
