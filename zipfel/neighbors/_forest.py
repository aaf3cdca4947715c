"""Kernels of the forest: growing a tree, finding a document's leaves, and the shares of labels there."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from zipfel.kernels.lanes import LANES, row_times_table
from zipfel.linear._solver import next_draw

Array = npt.NDArray[Any]
FAN = LANES
"""Children of a node that is split."""
_ROUNDS, _DEEPEST = 2, 20
"""Rounds of clustering, the first with single points as centres; the largest depth of a tree."""


@njit(cache=True, nogil=True)
def _add(rows: Array, classes: Array, ptr: Array, ids: Array, values: Array, table: Array) -> None:
    """Each row to its class's column of the table (n, 16)."""
    for i in range(len(rows)):
        for t in range(ptr[rows[i]], ptr[rows[i] + 1]):
            table[ids[t], classes[i]] += values[t]


@njit(cache=True, nogil=True)
def _wipe(rows: Array, ptr: Array, ids: Array, table: Array) -> None:
    """Zero wherever one of the rows has a value."""
    for i in range(len(rows)):
        for t in range(ptr[rows[i]], ptr[rows[i] + 1]):
            place = ids[t]
            for c in range(FAN):
                table[place, c] = np.float32(0.0)


@njit(cache=True, nogil=True)
def _scales(products: Array, classes: Array, scale: Array) -> None:
    """scale: (16,) one by the length of each class's sum, 0 of an empty class. products: (n, 16) of its rows with the
    sums; those of a class with its own sum add up to the square of its length."""
    for c in range(FAN):
        scale[c] = np.float32(0.0)
    for i in range(len(classes)):
        scale[classes[i]] += products[i, classes[i]]
    for c in range(FAN):
        scale[c] = np.float32(1.0) / np.sqrt(scale[c]) if scale[c] > 0 else np.float32(0.0)


@njit(cache=True, nogil=True)
def _nearest(products: Array, scale: Array) -> int:
    """The class with the largest cosine, of equal ones the first; never an empty one."""
    best, found = np.float32(-np.inf), 0
    for c in range(FAN):
        cosine = products[c] * scale[c]
        if scale[c] > 0 and cosine > best:
            best, found = cosine, c
    return found


@njit(cache=True, nogil=True)
def _cluster(
    rows: Array, ptr: Array, ids: Array, values: Array, table: Array, products: Array, scale: Array, classes: Array
) -> None:
    """Spherical k-means of rows of unit length, the first 16 of them as centres. table: scratch, 0, and left so."""
    seeds = rows[:FAN]
    for i in range(len(seeds)):
        classes[i] = i
    _add(seeds, classes, ptr, ids, values, table)
    for c in range(FAN):
        scale[c] = np.float32(1.0) if c < len(seeds) else np.float32(0.0)
    for step in range(_ROUNDS):
        for i in range(len(rows)):
            row_times_table(ptr[rows[i]], ptr[rows[i] + 1], ids, values, table, products[i])
        if step:
            _scales(products, classes, scale)
        for i in range(len(rows)):
            classes[i] = _nearest(products[i], scale)
        _wipe(rows, ptr, ids, table)
        if step + 1 < _ROUNDS:
            _add(rows, classes, ptr, ids, values, table)


@njit(cache=True, nogil=True)
def _draw(rows: Array, seen: Array, most: int, state: int) -> tuple[int, int, int]:
    """Puts those that are seen first, and up to `most` of these, at random, before the rest. (how many are seen, how
    many are drawn, the generator's state)"""
    n_seen = 0
    for i in range(len(rows)):
        if seen[rows[i]]:
            rows[n_seen], rows[i] = rows[i], rows[n_seen]
            n_seen += 1
    drawn = min(n_seen, most)
    for i in range(drawn):
        state = next_draw(state)
        j = i + np.int64(state % np.uint64(n_seen - i))
        rows[i], rows[j] = rows[j], rows[i]
    return n_seen, drawn, state


@njit(cache=True, nogil=True)
def _sort_by_child(rows: Array, child: Array, seen: Array, ends: Array, scratch: Array) -> int:
    """Rows in the order of their children; ends: (16,) where those of each child end. Returns how many children have a
    point that is seen."""
    n_used = 0
    for c in range(FAN):
        ends[c] = 0
    for i in range(len(rows)):
        if seen[rows[i]]:
            n_used += ends[child[i]] == 0
            ends[child[i]] += 1
    for i in range(len(rows)):
        if not seen[rows[i]]:
            ends[child[i]] += 1
    for c in range(1, FAN):
        ends[c] += ends[c - 1]
    for i in range(len(rows) - 1, -1, -1):
        ends[child[i]] -= 1
        scratch[ends[child[i]]] = rows[i]
    for i in range(len(rows)):
        rows[i] = scratch[i]
    for c in range(FAN - 1):
        ends[c] = ends[c + 1]
    ends[FAN - 1] = len(rows)
    return n_used


@njit(cache=True, nogil=True)
def _assign(
    rows: Array,
    drawn: int,
    classes: Array,
    ptr: Array,
    ids: Array,
    values: Array,
    table: Array,
    products: Array,
    scale: Array,
    child: Array,
) -> None:
    """child: (n,) the class whose words each row is most like; the first `drawn` rows, whose classes are known, make
    them up. table: scratch, 0, and left so."""
    some = rows[:drawn]
    _add(some, classes, ptr, ids, values, table)
    for i in range(drawn):
        row_times_table(ptr[some[i]], ptr[some[i] + 1], ids, values, table, products[i])
    _scales(products, classes, scale)
    for i in range(drawn):
        child[i] = _nearest(products[i], scale)
    for i in range(drawn, len(rows)):
        row_times_table(ptr[rows[i]], ptr[rows[i] + 1], ids, values, table, products[0])
        child[i] = _nearest(products[0], scale)
    _wipe(some, ptr, ids, table)


@njit(cache=True, nogil=True)
def grow(
    x_ptr: Array,
    x_ids: Array,
    x_values: Array,
    n_features: int,
    y_ptr: Array,
    y_ids: Array,
    y_values: Array,
    n_labels: int,
    seen: Array,
    leaf: int,
    sample: int,
    seed: int,
) -> tuple[Array, Array, Array, Array, Array, Array]:
    """One tree: (is each node split, edges of the split nodes' members, members, their classes, scales of the split
    nodes and their classes (s, 16), node in which each row ends).

    Rows x and y are of unit length. All rows go down the tree; only those that are `seen` shape it. Nodes are numbered
    in the order of their creation. The children of the s-th split node are 1 + 16 s to 16 + 16 s.
    """
    n, state = len(seen), np.uint64(2 * seed + 1)
    rows, scratch = np.arange(n).astype(np.int32), np.empty(n, dtype=np.int32)
    by_words, by_labels = np.zeros((n_features, FAN), dtype=np.float32), np.zeros((n_labels, FAN), dtype=np.float32)
    products, scale = np.empty((max(1, min(n, sample)), FAN), dtype=np.float32), np.empty(FAN, dtype=np.float32)
    classes, child, ends = np.empty(n, dtype=np.uint8), np.empty(n, dtype=np.uint8), np.empty(FAN, dtype=np.int32)
    most = 1 + FAN * n  # nodes: every split parts points that are seen; and memory that is not touched costs nothing
    starts, stops, levels = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.int32), np.zeros(most, np.uint8)
    is_split, ends_in = np.zeros(most, dtype=np.bool_), np.empty(n, dtype=np.int32)
    edges, scales = np.zeros(n + 1, dtype=np.int64), np.empty((n, FAN), dtype=np.float32)
    members, kinds = np.empty(_DEEPEST * n, dtype=np.int32), np.empty(_DEEPEST * n, dtype=np.uint8)
    starts[0], stops[0], n_split, node = 0, n, 0, 0
    while node <= FAN * n_split:
        here, n_used, used = rows[starts[node] : stops[node]], 0, edges[n_split]
        n_seen, drawn, state = _draw(here, seen, sample, state)
        if n_seen > leaf and levels[node] < _DEEPEST:
            kind = classes[:drawn]
            _cluster(here[:drawn], y_ptr, y_ids, y_values, by_labels, products, scale, kind)
            for i in range(drawn):
                members[used + i], kinds[used + i] = here[i], kind[i]
            _assign(here, drawn, kind, x_ptr, x_ids, x_values, by_words, products, scale, child)
            n_used = _sort_by_child(here, child, seen, ends, scratch)
        if n_used > 1:
            first = 1 + FAN * n_split
            is_split[node], edges[n_split + 1], n_split = True, used + drawn, n_split + 1
            for c in range(FAN):
                scales[n_split - 1, c], levels[first + c] = scale[c], levels[node] + 1
                starts[first + c] = starts[node] + (ends[c - 1] if c else 0)
                stops[first + c] = starts[node] + ends[c]
        else:
            for row in here:
                ends_in[row] = node
        node += 1
    used = edges[n_split]
    kept = is_split[:node].copy(), edges[: n_split + 1].copy(), members[:used].copy(), kinds[:used].copy()
    return *kept, scales[:n_split].copy(), ends_in


@njit(cache=True, nogil=True)
def find_leaves(
    start: int,
    stop: int,
    cosines: Array,
    roots: Array,
    children: Array,
    inner: Array,
    edges: Array,
    members: Array,
    classes: Array,
    scales: Array,
    leaves: Array,
) -> None:
    """Rows start..stop of leaves (n, trees), by their cosines (n, points) with the training points.

    children: (nodes,) the first of each, -1 of a leaf; inner: (nodes,) which of the split nodes each is.
    """
    sums = np.empty(FAN, dtype=np.float32)
    for i in range(start, stop):
        near = cosines[i]
        for t in range(len(roots)):
            node = roots[t]
            while children[node] >= 0:
                s = inner[node]
                for c in range(FAN):
                    sums[c] = np.float32(0.0)
                for j in range(edges[s], edges[s + 1]):
                    sums[classes[j]] += near[members[j]]
                node = children[node] + _nearest(sums, scales[s])
            leaves[i, t] = node


@njit(cache=True, nogil=True)
def leaf_shares(
    start: int,
    stop: int,
    leaves: Array,
    edges: Array,
    voters: Array,
    y_ptr: Array,
    y_ids: Array,
    n_labels: int,
    labels: Array,
    out: Array,
) -> None:
    """Rows start..stop of out (n, c): the mean over trees of the share of a leaf's voters that have each label of
    labels (n, c), 0 where it is -1."""
    sums, n_trees = np.empty(n_labels, dtype=np.float32), leaves.shape[1]
    for i in range(start, stop):
        for c in range(labels.shape[1]):
            if labels[i, c] >= 0:
                sums[labels[i, c]] = np.float32(0.0)
        for t in range(n_trees):
            a, b = edges[leaves[i, t]], edges[leaves[i, t] + 1]
            share = np.float32(1.0 / (n_trees * max(1, b - a)))
            for j in range(a, b):
                for u in range(y_ptr[voters[j]], y_ptr[voters[j] + 1]):
                    sums[y_ids[u]] += share  # labels that are no candidates have any value
        for c in range(labels.shape[1]):
            out[i, c] = sums[labels[i, c]] if labels[i, c] >= 0 else np.float32(0.0)
