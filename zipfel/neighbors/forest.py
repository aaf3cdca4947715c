"""A forest whose nodes are training points: documents with similar labels reach the same leaves, whose points vote.

Siblini, Kuntz and Meyer, "CRAFTML, an efficient clustering-based random forest for extreme multi-label learning"
(ICML 2018), here without projections, and as evidence for given candidates.

    A node's points, a sample of them, are clustered by their label sets (spherical k-means from 16 of them, labels
    weighted by log n / N_l); u_c is the sum of the words x_i of a cluster's points. Every point, and every document
    to predict, moves to the child c with the largest cos(x, u_c), until few points are left.
    forest(l) = mean over trees of the share of the leaf's points that have label l

cos(x, u_c) is a sum of cosines of x with points. A tree therefore keeps the numbers of these points and not u_c.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.config import Config, param
from zipfel.errors import ModelFileError
from zipfel.index.sparse import unit_csr
from zipfel.kernels.sparse_topk import kernel_arrays
from zipfel.neighbors._forest import FAN, find_leaves, grow, leaf_shares
from zipfel.neighbors.votes import FAINT
from zipfel.neighbors.words import WordIndex
from zipfel.system.threads import at_once, over_blocks

Array = npt.NDArray[Any]
_LEAST_WEIGHT = 0.1
"""Of a label that nearly every point has."""
_ASKED = 100
"""Voters of a leaf, at most: points with the same labels are never split, however many there are."""
_COSINES = 4_000_000
"""Cosines of documents with training points that are in memory at a time."""


@dataclass(frozen=True)
class ForestConfig(Config):
    trees: int = param(20, "trees of the forest", low=1, high=1000)
    leaf: int = param(30, "points in a node that is not split any more", low=1)
    sample: int = param(1000, "points of a node that are clustered, at most", low=FAN)


@dataclass(frozen=True)
class Forest:
    """Trees one after the other. sizes: (trees,) nodes of each; is_split: (nodes,); the children of a tree's s-th node
    that is split are its nodes 1 + 16 s and the fifteen behind. edges: (split nodes + 1,) where the points begin that
    such a node was clustered by: members, and classes, the child of each; scales: (split nodes, 16), one by
    the length of their sum. leaves: (n, trees) the node of each tree in which a training point ends; voters: (n,) whose
    labels count."""

    sizes: Array
    is_split: Array
    edges: Array
    members: Array
    classes: Array
    scales: Array
    leaves: Array
    voters: Array

    OPINIONS: ClassVar[tuple[str, ...]] = ("forest", "log forest")

    @classmethod
    def fit(cls, config: ForestConfig, words: WordIndex, Y: sp.csr_matrix, seen: Array, seed: int) -> Forest:
        """Of the points that are `seen` (n,), which are its voters; for the others only their leaves are found."""
        seen = seen & words.can_vote
        x, y = _occurring(unit_csr(words.rows)), _weighted(_occurring(Y), seen)
        rows = *kernel_arrays(x), int(x.shape[1]), *kernel_arrays(y), int(y.shape[1]), seen
        seeds = np.random.default_rng(seed).integers(2**40, size=config.trees).tolist()
        found = at_once(*(partial(grow, *rows, config.leaf, config.sample, one) for one in seeds))
        is_split, edges, members, classes, scales, leaves = zip(*found, strict=True)
        starts = np.cumsum([0, *map(len, members)])
        begins = [own[:-1] + start for own, start in zip(edges, starts, strict=False)]
        return cls(
            np.array([len(nodes) for nodes in is_split], dtype=np.int64),
            np.concatenate(is_split),
            np.append(np.concatenate(begins), starts[-1]),
            np.concatenate(members),
            np.concatenate(classes),
            np.concatenate(scales),
            np.column_stack(leaves),
            seen,
        )

    def find(self, words: WordIndex, X: sp.csr_matrix) -> npt.NDArray[np.int32]:
        """(n, trees) the leaves of documents; words: the training points, and others behind them if need be."""
        found = np.empty((X.shape[0], len(self.sizes)), dtype=np.int32)
        step = max(1, _COSINES // max(1, len(words)))
        for a in range(0, X.shape[0], step):
            cosines, part = words.steady_cosines(X[a : a + step] if step < X.shape[0] else X), found[a : a + step]
            self._find(cosines, part)
        return found

    def _find(self, cosines: npt.NDArray[np.float32], found: npt.NDArray[np.int32]) -> None:
        nodes = *self._nodes, self.edges, self.members, self.classes, self.scales
        over_blocks(lambda a, b: find_leaves(a, b, cosines, self._roots, *nodes, found), len(found))
        found -= self._roots

    def opinions(self, leaves: Array, labels: Array, Y: sp.csr_matrix) -> list[npt.NDArray[np.float32]]:
        """OPINIONS of the labels (n, c) of each document, by its leaves (n, trees); 0 where one is -1. Y: (points,
        n_labels), what the voters vote for."""
        out = np.empty(labels.shape, dtype=np.float32)
        asked = (
            leaves + self._roots,
            *self._ballots,
            *kernel_arrays(Y)[:2],
            int(Y.shape[1]),
            labels.astype(np.int64, copy=False),
        )
        over_blocks(lambda a, b: leaf_shares(a, b, *asked, out), len(out))
        return [out, np.log(out + np.float32(FAINT))]

    def with_voters(self, voters: Array) -> Forest:
        """The same with other voters."""
        return replace(self, voters=voters)

    def joined(self, words: WordIndex, X: sp.csr_matrix) -> Forest:
        """With more points X behind its own; words: all of them."""
        return replace(self, leaves=np.vstack([self.leaves, self.find(words, X)]), voters=words.can_vote)

    @cached_property
    def _roots(self) -> npt.NDArray[np.int32]:
        """(trees,) the number of each tree's first node among all."""
        return np.cumsum(np.append(0, self.sizes[:-1])).astype(np.int32)

    @cached_property
    def _nodes(self) -> tuple[Array, Array]:
        """(nodes,) the first child of each, -1 of a leaf; and which of the split nodes it is."""
        inner = (np.cumsum(self.is_split) - self.is_split).astype(np.int32)
        root = np.repeat(self._roots, self.sizes)
        children = np.where(self.is_split, root + 1 + FAN * (inner - inner[root]), -1)
        return children.astype(np.int32), inner

    @cached_property
    def _ballots(self) -> tuple[Array, Array]:
        """The voters of each node, as a list with nodes + 1 ends; of many, some at random."""
        rows = np.random.default_rng(0).permutation(np.flatnonzero(self.voters)).astype(np.int32)
        at = (self.leaves[rows] + self._roots).T.ravel()  # tree by tree
        counts = np.bincount(at, minlength=len(self.is_split))
        order = np.argsort(at, kind="stable")
        kept = np.arange(len(at)) - np.repeat(np.cumsum(counts) - counts, counts) < _ASKED
        return np.append(0, np.cumsum(np.minimum(counts, _ASKED))), rows[order[kept] % max(1, len(rows))]

    def state(self) -> dict[str, Array]:
        """As small as the numbers are."""
        return {
            "sizes": self.sizes,
            "is_split": self.is_split.astype(np.uint8),
            "edges": self.edges,
            "members": _narrow(self.members),
            "classes": self.classes,
            "scales": self.scales,
            "leaves": _narrow(self.leaves),
        }

    @classmethod
    def restored(cls, arrays: Mapping[str, Array], voters: Array) -> Forest:
        """The counterpart of `state`; every index is checked, a model file may come from anywhere."""
        names = ("sizes", "is_split", "edges", "members", "classes", "scales", "leaves")
        if not set(names) <= set(arrays):
            raise ModelFileError(f"the forest in the model lacks {', '.join(sorted(set(names) - set(arrays)))}")
        found = {name: arrays[name] for name in names}
        if not _is_sound(found, len(voters)):
            raise ModelFileError("the forest in the model is damaged: its arrays do not fit each other")
        wide = {name: found[name].astype(np.int32) for name in ("members", "leaves")}
        return cls(**found | wide | {"is_split": found["is_split"].astype(bool)}, voters=voters)


def _is_sound(found: Mapping[str, Array], n_points: int) -> bool:
    """Whether every number is in its range and every child comes after its parent, so that each path ends."""
    sizes, split, edges, scales = (found[name] for name in ("sizes", "is_split", "edges", "scales"))
    members, classes, leaves = (found[name] for name in ("members", "classes", "leaves"))
    whole = all(found[name].dtype.kind in "iu" for name in found if name != "scales")
    shapes = sizes.ndim == split.ndim == edges.ndim == members.ndim == 1 and classes.shape == members.shape
    if not (whole and shapes and len(sizes) and leaves.shape == (n_points, len(sizes)) and (sizes > 0).all()):
        return False
    if sizes.dtype != np.int64 or sizes.max() > split.size:  # a sum of larger ones could wrap around
        return False
    if split.size != sizes.sum() or split.max() > 1 or split.min() < 0 or edges.dtype != np.int64:
        return False
    inner, local = np.cumsum(split) - split, np.arange(len(split)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    inner = inner - np.repeat(inner[np.cumsum(sizes) - sizes], sizes)  # within its tree
    return bool(
        (np.add.reduceat(split, np.cumsum(sizes) - sizes, dtype=np.int64) * FAN + 1 == sizes).all()
        and (FAN * inner + 1 > local)[split > 0].all()
        and len(edges) == split.sum(dtype=np.int64) + 1
        and edges[0] == 0
        and edges[-1] == len(members)
        and (edges[1:] >= edges[:-1]).all()
        and scales.shape == (len(edges) - 1, FAN)
        and scales.dtype == np.float32
        and np.isfinite(scales).all()
        and _within(members, n_points)
        and _within(classes, FAN)
        and leaves.min(initial=0) >= 0
        and (leaves < sizes).all()
    )


def _within(numbers: Array, limit: int) -> bool:
    """All from 0 to below the limit."""
    return bool(numbers.size == 0 or (numbers.min() >= 0 and numbers.max() < limit))


def _narrow(numbers: Array) -> Array:
    """In two bytes each, if they fit."""
    return numbers.astype(np.uint16 if numbers.max(initial=0) <= np.iinfo(np.uint16).max else np.int32)


def _occurring(rows: sp.csr_matrix) -> sp.csr_matrix:
    """Without columns that have no entry: a file may declare millions, and tables have a row for each."""
    columns, places = np.unique(rows.indices, return_inverse=True)
    shape = (rows.shape[0], max(1, len(columns)))
    return sp.csr_matrix((rows.data, places.astype(np.int32), rows.indptr), shape=shape)


def _weighted(Y: sp.csr_matrix, seen: Array) -> sp.csr_matrix:
    """Labels by log n / N_l, as they occur in the rows that are seen; rows of unit length."""
    rows = np.repeat(seen, np.diff(Y.indptr))
    counts = np.bincount(Y.indices[rows], minlength=Y.shape[1])
    weights = np.maximum(np.log(max(1, seen.sum()) / np.maximum(counts, 1)), _LEAST_WEIGHT).astype(np.float32)
    return unit_csr(sp.csr_matrix((weights[Y.indices], Y.indices, Y.indptr), shape=Y.shape))
