"""Whom auto asks about candidates besides: a label tree, a forest, classifiers of words together, near points together,
a network; each where there is one."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.evidence.conjunctions import Conjunctions
from zipfel.evidence.drift import Drift
from zipfel.linear import tree
from zipfel.methods.auto_config import AutoConfig
from zipfel.methods.auto_parts import Found
from zipfel.methods.base import State, under
from zipfel.neighbors.forest import Forest, can_vote
from zipfel.neighbors.joint import Along, JointNeighbors
from zipfel.neighbors.words import WordIndex
from zipfel.nn.network import Network

Array = npt.NDArray[Any]


class Known(NamedTuple):
    """What is known of documents (n,) before they are asked about: neighbours by words, leaves of the forest, places in
    the file."""

    near: Found | None = None
    leaves: Array | None = None
    places: Array | None = None

    def of_rows(self, rows: slice) -> Known:
        near, leaves, places = self
        cut = None if near is None else (near[0][rows], near[1][rows])
        return Known(cut, None if leaves is None else leaves[rows], None if places is None else places[rows])


@dataclass(frozen=True)
class Further:
    tree: tree.TreeRanker | None = None
    forest: Forest | None = None
    conjunctions: Conjunctions | None = None
    neighbourhood: JointNeighbors | None = None
    network: Network | None = None

    @property
    def names(self) -> list[str]:
        """Of what they say of a label."""
        found = [tree.OPINIONS if self.tree else (), Forest.OPINIONS if self.forest else ()]
        found += [Conjunctions.OPINIONS if self.conjunctions else ()]
        found += [JointNeighbors.OPINIONS if self.neighbourhood else (), Network.OPINIONS if self.network else ()]
        return [name for names in found for name in names]

    def opinions(
        self,
        X: sp.csr_matrix,
        labels: Array,
        margin: Array | None,
        known: Known,
        memory: WordIndex,
        Y: sp.csr_matrix,
        drift: Drift | None,
    ) -> list[npt.NDArray[np.float32]]:
        """(n, c) for each of `names`, of labels (n, c). margin: (n, c) what classifiers say of them; known: at least
        the neighbours, and with drift the places; memory, Y: words and labels of the training points."""
        found = self.tree.opinions(X, labels) if self.tree else []
        if self.forest:
            leaves = self.forest.find(memory, X) if known.leaves is None else known.leaves
            found += self.forest.opinions(leaves, labels, Y)
        if self.conjunctions:
            assert margin is not None  # there are none without classifiers
            found += self.conjunctions.opinions(X, labels, margin)
        if self.neighbourhood:
            assert known.near is not None
            along = Along(known.places, drift.places) if drift and known.places is not None else None
            found += self.neighbourhood.opinions(known.near, labels, memory, Y, along)
        if self.network:
            found += self.network.opinions(X, labels)
        return found

    def without_forest(self) -> Further:
        return replace(self, forest=None)

    def open_to_all(self, memory: WordIndex) -> Further:
        """With all points that can vote as voters."""
        return replace(self, forest=self.forest and self.forest.asking(can_vote(memory)))

    def joined(self, X: sp.csr_matrix, memory: WordIndex, Y: sp.csr_matrix) -> Further:
        """With more points X; memory, Y: words and labels of all."""
        return replace(
            self,
            tree=self.tree and self.tree.widened(int(Y.shape[1])),
            forest=self.forest and self.forest.joined(memory, X),
        )

    def state(self) -> dict[str, Array]:
        arrays: dict[str, Array] = {}
        for field in fields(self):
            if part := getattr(self, field.name):
                arrays |= under(field.name, part.state())
        return arrays

    @classmethod
    def restored(cls, state: State, config: AutoConfig, memory: WordIndex, n_features: int, n_labels: int) -> Further:
        """The counterpart of `state`; what the config does not ask for is left."""
        found = cls()
        if config.codes and config.tree and (kept := state.part("tree")):
            found = replace(found, tree=tree.TreeRanker.restored(kept, n_features, n_labels))
        if config.forest and (kept := state.part("forest")):
            found = replace(found, forest=Forest.restored(kept, can_vote(memory)))
        if config.classifiers and config.conjunctions and (kept := state.part("conjunctions")):
            found = replace(found, conjunctions=Conjunctions.restored(kept, n_features, n_labels))
        if config.neighbourhood and (kept := state.part("neighbourhood")):
            found = replace(found, neighbourhood=JointNeighbors.restored(kept))
        if config.network and (kept := state.part("network")):
            found = replace(found, network=Network.restored(kept, n_features, n_labels))
        return found
