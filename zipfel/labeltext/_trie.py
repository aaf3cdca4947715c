"""A trie of names over the numbers of their stems, its edges in one hash table."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[Any]


@njit(cache=True, nogil=True)
def slot_of(slots: Array, parent: int, stem: int) -> int:
    """Where the edge from a node by a stem is, or the free place where it belongs."""
    mask = len(slots) - 1
    mixed = np.uint32(np.uint32(parent) * np.uint32(0x9E3779B1) + np.uint32(stem) * np.uint32(0x85EBCA77))
    place = np.int64(mixed ^ (mixed >> np.uint32(15))) & mask
    while slots[place, 0] >= 0 and not (slots[place, 0] == parent and slots[place, 1] == stem):
        place = (place + 1) & mask
    return int(place)


@njit(cache=True, nogil=True)
def child_of(slots: Array, parent: int, stem: int) -> int:
    """The node that a stem leads to from another, -1 where it leads nowhere."""
    return int(slots[slot_of(slots, parent, stem), 2])


@njit(cache=True, nogil=True)
def add_names(slots: Array, start: Array, stems: Array) -> Array:
    """Makes room in `slots`, which must have more places than there are words; (m,) the node where each name ends."""
    ends = np.zeros(len(start) - 1, dtype=np.int64)
    n_nodes = 1
    for name in range(len(start) - 1):
        node = np.int64(0)
        for i in range(start[name], start[name + 1]):
            place = slot_of(slots, node, np.int64(stems[i]))
            if slots[place, 0] < 0:
                slots[place, 0], slots[place, 1], slots[place, 2] = node, stems[i], n_nodes
                n_nodes += 1
            node = np.int64(slots[place, 2])
        ends[name] = node
    return ends
