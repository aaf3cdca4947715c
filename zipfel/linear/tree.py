"""A label tree with a classifier for each branch and each label. A branch learns from the points of all its labels, a
label only from the points of similar labels.

Prabhu et al., "Parabel: Partitioned label trees" (WWW 2018), here as evidence for given candidates.

    The labels are split into halves by their points' codes, and these again, until a leaf holds `leaf` labels at most.
    m_b(x) = w_b . x + b_b: of every branch b, learnt on the points below its parent; positive are those below b
    m_l(x): of every label, learnt on the points below its leaf
    branches(l) = - sum_{b above l} max(0, 1 - m_b(x))^2
    leaf(l)     = - max(0, 1 - m_l(x))^2

Branches are numbered by levels, 0 and 1 below the root, 2 to 5 below these: the twin of branch b is b ^ 1, its parent
(b - 2) >> 1. Label l is class n_branches + l.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from numba import njit

from zipfel.config import Config, param
from zipfel.errors import ModelFileError
from zipfel.index.base import unit_rows
from zipfel.linear.classifiers import LinearClassifiers, LinearConfig
from zipfel.linear.problems import Problems
from zipfel.system.threads import check_halted, over_blocks

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.float32]
OPINIONS = ("label tree: branches", "label tree: leaf")
_SPLITS = 15
"""Rounds of splitting a branch at most."""
_STILL = 1e-4
"""Halves whose directions move less than this stay as they are."""
_FAR = 1e3
"""What a margin may lack of 1 at most: its square is a number, whatever the features."""
_BLOCK = 2048
"""Labels that are added at a time."""
_DEEPEST = 24
_AS_GIVEN = LinearConfig(damping=1.0)


@dataclass(frozen=True)
class TreeConfig(Config):
    leaf: int = param(10, "labels below a branch that is not split any more", low=2)
    cost: float = param(1.0, "of the branches' classifiers", symbol="C", low=1e-6)
    threshold: float = param(0.15, "weights of theirs up to this are dropped", low=0)
    tolerance: float = param(1.0, "largest violation of the optimum at which one of them counts as solved", low=1e-6)


@dataclass(frozen=True)
class LabelTree:
    """leaf: (n_labels,) int32, which of the 2^depth leaves holds a label, -1 for labels that are not in the tree."""

    leaf: Array
    depth: int

    @classmethod
    def grow(cls, n_labels: int, labels: Array, means: Codes, most: int, rng: np.random.Generator) -> LabelTree:
        """Of the labels (p,), by means (p, dim) of the codes of their points. Leaves hold `most` at most, and differ by
        one label at most."""
        directions = unit_rows(means)
        groups, depth = [np.arange(len(labels))], 0
        while max(map(len, groups)) > most:
            check_halted()
            groups = [half for group in groups for half in _halves(group, directions[group], rng)]
            depth += 1
        leaf = np.full(n_labels, -1, dtype=np.int32)
        for i, group in enumerate(groups):
            leaf[labels[group]] = i
        return cls(leaf, depth)

    def with_labels(self, labels: Array, means: Codes) -> LabelTree:
        """Those of the labels (p,) that are not in it join the leaf whose labels' points theirs are most like. means:
        (p, dim), of all that are in it, too, in whatever space."""
        leaf, directions = self.leaf.copy(), unit_rows(means)
        known, new = np.flatnonzero(leaf[labels] >= 0), np.flatnonzero(leaf[labels] < 0)
        centres = np.zeros((1 << self.depth, means.shape[1]), dtype=np.float32)
        np.add.at(centres, leaf[labels[known]], directions[known])
        centres = unit_rows(centres)
        for a in range(0, len(new), _BLOCK):
            rows = new[a : a + _BLOCK]
            leaf[labels[rows]] = (directions[rows] @ centres.T).argmax(axis=1)
        return LabelTree(leaf, self.depth)

    def leaves(self, Y: sp.csr_matrix) -> sp.csr_matrix:
        """(n, leaves) of ones: which leaves hold the labels Y (n, n_labels), all of which are in the tree."""
        n, data = len(self.leaf), np.ones(len(self.leaf), dtype=np.float32)
        found = sp.csr_matrix(Y @ sp.csr_matrix((data, self.leaf, np.arange(n + 1)), shape=(n, self.leaf.max() + 1)))
        found.data[:] = 1
        return found

    @property
    def n_branches(self) -> int:
        return (2 << self.depth) - 2

    @cached_property
    def members(self) -> tuple[Array, Array]:
        """Labels of each leaf, as a list with 2^depth + 1 ends."""
        labels = np.argsort(self.leaf, kind="stable")[(self.leaf < 0).sum() :]
        counts = np.bincount(self.leaf[labels], minlength=1 << self.depth)
        return np.append(0, np.cumsum(counts)), labels

    def problems(self, Y: sp.csr_matrix) -> Problems:
        """What the branches' and the labels' classifiers learn from: of each point the branches and labels that it has,
        the branches' twins, and the other labels of its leaves."""
        n_classes = self.n_branches + len(self.leaf)
        rows = Y.indptr.astype(np.int64), Y.indices.astype(np.int32, copy=False)
        own = _lists(*rows, self.leaf, self.n_branches, *self.members, False)
        others = _lists(*rows, self.leaf, self.n_branches, *self.members, True)
        return Problems.of_lists(own[0], own[1], others[0], others[1], n_classes)


@dataclass(frozen=True)
class TreeClassifiers:
    """A tree and its classifiers: of branches first, then of labels."""

    tree: LabelTree
    classifiers: LinearClassifiers

    def opinions(self, X: sp.csr_matrix, labels: Array) -> list[npt.NDArray[np.float32]]:
        """OPINIONS of the candidates (n, c) of each row, 0 where one is -1, NaN for a label that is not
        in the tree."""
        tree, ids = self.tree, labels.astype(np.int64, copy=False)
        width = ids.shape[1] + min(ids.shape[1] * tree.depth, tree.n_branches)
        asked = np.full((len(ids), width), -1, dtype=np.int64)
        place = np.empty((*ids.shape, tree.depth + 1), dtype=np.int32)
        used = np.zeros(len(ids), dtype=np.int64)

        def find(a: int, b: int) -> None:
            slots = np.full(tree.n_branches, -1, dtype=np.int64)
            _needed_classes(a, b, ids, tree.leaf, tree.n_branches, slots, asked, place, used)

        over_blocks(find, len(ids))
        margins = self.classifiers.score(X, np.ascontiguousarray(asked[:, : used.max(initial=0)]))
        out = np.zeros((2, *ids.shape), dtype=np.float32)
        over_blocks(lambda a, b: _sum_losses(a, b, margins, place, np.float32(_FAR), out), len(ids))
        return [np.where((labels < 0) | (tree.leaf[labels] >= 0), opinion, np.float32(np.nan)) for opinion in out]

    def widened(self, n_labels: int) -> TreeClassifiers:
        """With room for so many labels. Those that are new are not in the tree: its branches have not seen them."""
        more = np.full(n_labels - len(self.tree.leaf), -1, dtype=np.int32)
        return TreeClassifiers(LabelTree(np.append(self.tree.leaf, more), self.tree.depth), self.classifiers)

    def state(self) -> dict[str, Array]:
        depth = np.array([self.tree.depth], dtype=np.int64)
        return {"leaf": self.tree.leaf, "depth": depth, **self.classifiers.state()}

    @classmethod
    def restored(cls, arrays: Mapping[str, Array], n_features: int, n_labels: int) -> TreeClassifiers:
        """The counterpart of `state`; a model file may come from anywhere."""
        leaf, depth = arrays.get("leaf", np.zeros(())), arrays.get("depth", np.zeros(()))
        if leaf.shape != (n_labels,) or leaf.dtype != np.int32 or depth.shape != (1,) or depth.dtype != np.int64:
            raise ModelFileError("the label tree in the model is damaged: it has no leaves of the labels")
        if not 0 <= depth[0] <= _DEEPEST or (n_labels and not -1 <= leaf.min() <= leaf.max() < 1 << int(depth[0])):
            raise ModelFileError(f"the label tree in the model is damaged: leaves do not fit a depth of {depth[0]}")
        tree, n_classes = LabelTree(leaf, int(depth[0])), arrays.get("bias", np.zeros(0)).size
        if n_classes < tree.n_branches + 1 + np.flatnonzero(leaf >= 0).max(
            initial=-1
        ):  # labels that came later have none
            raise ModelFileError("the label tree in the model is damaged: it lacks classifiers of its labels")
        return cls(tree, LinearClassifiers.restored(arrays, n_features, n_classes, _AS_GIVEN))


def _halves(group: Array, directions: Codes, rng: np.random.Generator) -> tuple[Array, Array]:
    """Two halves of the labels by balanced 2-means: each label goes to the nearer of two directions. The directions are
    the means of the halves, at first two labels. With an odd number the first half is smaller by one."""
    n = len(group)
    if n < 2:
        return group[:0], group
    one, other = directions[rng.choice(n, 2, replace=False)]
    for _ in range(_SPLITS):
        order = np.argsort(directions @ (other - one), kind="stable")
        first, second = order[: n // 2], order[n // 2 :]
        before = one, other
        one, other = unit_rows(np.stack([directions[first].sum(axis=0), directions[second].sum(axis=0)]))
        if one @ before[0] + other @ before[1] > 2 - _STILL:
            break
    return group[first], group[second]


@njit(cache=True, nogil=True)
def _lists(
    ptr: Array,
    labels: Array,
    leaf: Array,
    n_branches: int,
    member_ptr: Array,
    members: Array,
    others: bool,
) -> tuple[Array, Array]:
    """Classes of each point, as (ends, ids): its branches and labels; or the others that its classifiers learn from."""
    n, first = len(ptr) - 1, n_branches // 2 - 1  # of the leaves' branches; -1 where the root is the only leaf
    owner, ends = np.full(n_branches + 1, -1, dtype=np.int64), np.zeros(n + 1, dtype=np.int64)
    found, used = np.empty(1024, dtype=np.int32), 0
    seen = np.empty(n_branches + 1, dtype=np.int64)
    for doc in range(n):
        n_seen, size = 0, ptr[doc + 1] - ptr[doc]
        for j in range(ptr[doc], ptr[doc + 1]):
            if leaf[labels[j]] < 0:
                continue
            branch = first + leaf[labels[j]]
            while owner[branch] != doc:  # -1, the root, has the last place
                owner[branch] = doc
                seen[n_seen] = branch
                n_seen += 1
                if branch < 0:
                    break
                size += 1 + (member_ptr[branch - first + 1] - member_ptr[branch - first] if branch >= first else 0)
                branch = (branch - 2) >> 1
        if n_branches == 0:
            size += len(members)
        if used + size > len(found):
            wider = np.empty(max(2 * len(found), used + size), dtype=np.int32)
            for at in range(used):  # a slice would take numba two seconds to compile
                wider[at] = found[at]
            found = wider
        for t in range(n_seen):
            branch = seen[t]
            if branch >= 0:
                if not others:
                    found[used] = branch
                    used += 1
                elif owner[branch ^ 1] != doc:
                    found[used] = branch ^ 1
                    used += 1
            if others and branch >= first:
                for m in range(member_ptr[branch - first], member_ptr[branch - first + 1]):
                    found[used] = n_branches + members[m]
                    used += 1
        if not others:
            for j in range(ptr[doc], ptr[doc + 1]):
                if leaf[labels[j]] >= 0:
                    found[used] = n_branches + labels[j]
                    used += 1
        ends[doc + 1] = used
    return ends, found[:used]


@njit(cache=True, nogil=True)
def _needed_classes(
    start: int,
    stop: int,
    labels: Array,
    leaf: Array,
    n_branches: int,
    slots: Array,
    asked: Array,
    place: Array,
    used: Array,
) -> None:
    """Of rows start..stop: asked (n, w), -1 before, the classes that their candidates need, each once; place
    (n, c, depth + 1) where in `asked` each candidate finds its own and behind it those of its branches, -1 where it is
    not in the tree; used (n,) how many are asked. slots: (n_branches,) scratch, all -1, left so."""
    first = n_branches // 2 - 1
    for i in range(start, stop):
        n = 0
        for c in range(labels.shape[1]):
            label = labels[i, c]
            place[i, c, :] = -1
            if label < 0 or leaf[label] < 0:
                continue
            asked[i, n], place[i, c, 0] = n_branches + label, n
            n += 1
            branch = first + leaf[label]
            for level in range(1, place.shape[2]):
                if slots[branch] < 0:
                    slots[branch], asked[i, n] = n, branch
                    n += 1
                place[i, c, level] = slots[branch]
                branch = (branch - 2) >> 1
        used[i] = n
        for t in range(n):
            if asked[i, t] < n_branches:
                slots[asked[i, t]] = -1


@njit(cache=True, nogil=True)
def _sum_losses(start: int, stop: int, margins: Array, place: Array, far: float, out: Array) -> None:
    """out: (2, n, c), 0 before: the losses of the branches and of the label itself, see OPINIONS."""
    for i in range(start, stop):
        for c in range(place.shape[1]):
            if place[i, c, 0] < 0:
                continue
            for level in range(place.shape[2]):
                short = min(max(np.float32(0.0), np.float32(1.0) - margins[i, place[i, c, level]]), far)
                out[1 if level == 0 else 0, i, c] -= short * short
