"""The label graph (DXML, section 3.2): an edge joins two labels that ever share a point, or that a hierarchy joins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.errors import DataError, ResourceError
from zipfel.kernels.sparse_rows import canonical
from zipfel.kernels.walks import random_walks, random_walks_by_points

MAX_PAIRS = 2_000_000_000
"""Label pairs that may be counted; beyond it (24 GB of scratch) the graph is refused before the work starts."""


@dataclass(frozen=True)
class LabelGraph:
    """An undirected graph; node l < n_labels is label l, nodes above it are inner nodes of a hierarchy.

    adjacency: (n_nodes, n_nodes) CSR float32, symmetric, without loops; its values are the edge weights.
    """

    adjacency: sp.csr_matrix
    n_labels: int

    @property
    def n_nodes(self) -> int:
        return int(self.adjacency.shape[0])

    @property
    def n_edges(self) -> int:
        return int(self.adjacency.nnz) // 2

    @property
    def isolated(self) -> npt.NDArray[np.bool_]:
        """Labels without any edge."""
        return np.asarray(np.diff(self.adjacency.indptr)[: self.n_labels] == 0, dtype=bool)

    @classmethod
    def from_labels(cls, Y: sp.csr_matrix, *, weighted: bool = False) -> LabelGraph:
        """Edges of Y'Y; with `weighted` an edge weighs as many points as the two labels share, else 1."""
        sizes = np.diff(Y.indptr).astype(np.int64)
        if int((sizes * sizes).sum()) > MAX_PAIRS:
            raise ResourceError(
                f"the label graph would count {int((sizes * sizes).sum()):,} label pairs, more than {MAX_PAIRS:,}; "
                "use weighted edges (edges=counts), which are walked without counting pairs, or give a hierarchy"
            )
        together = sp.csr_matrix(Y.T @ Y, dtype=np.float32)
        return cls(_edges(together, weighted), int(Y.shape[1]))

    @classmethod
    def from_hierarchy(cls, path: str | Path, n_labels: int, label_names: Sequence[str] | None = None) -> LabelGraph:
        """Edges of a file with a `parent child` pair a line, split by a tab where there is one, else by a space.

        Nodes are label names where names are given, else label ids; any other word is an inner node of its own.
        """
        names = label_names if label_names is not None else [str(label) for label in range(n_labels)]
        position = {name: label for label, name in enumerate(names)}
        pairs = []
        for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            words = [word.strip() for word in line.split("\t" if "\t" in line else None)]
            if len(words) != 2 or not all(words):
                raise DataError(
                    f"expected a parent and a child, got {len(words)} words",
                    path=path,
                    line=number,
                    remedy="write `parent child`, with a tab between names that have spaces",
                )
            pairs.append([position.setdefault(word, len(position)) for word in words])
        parents, children = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        shape = (len(position), len(position))
        directed = sp.csr_matrix((np.ones(len(parents), dtype=np.float32), (parents, children)), shape=shape)
        return cls(_edges(sp.csr_matrix(directed + directed.T), weighted=False), n_labels)

    def walks(self, per_node: int, length: int, seed: int) -> npt.NDArray[np.int32]:
        """(per_node * n_nodes, length) node ids: every node begins `per_node` walks, in a shuffled order."""
        starts = _starts(self.n_nodes, per_node, seed)
        indptr = self.adjacency.indptr.astype(np.int64)
        indices = self.adjacency.indices.astype(np.int32)
        return random_walks(indptr, indices, self._cumulative(), starts, length, seed)

    def _cumulative(self) -> npt.NDArray[np.float32]:
        """Running sums of the weights within each row; empty where all weigh the same."""
        weights = self.adjacency.data
        if not len(weights) or bool((weights == weights[0]).all()):
            return np.zeros(0, dtype=np.float32)
        total = np.concatenate([[0.0], np.cumsum(weights, dtype=np.float64)])
        before = np.repeat(total[self.adjacency.indptr[:-1]], np.diff(self.adjacency.indptr))
        return np.asarray(total[1:] - before, dtype=np.float32)


@dataclass(frozen=True)
class SharedPoints:
    """The label graph with as many edges between two labels as they share points, without its adjacency matrix.

    Y: (n_points, n_labels). Its walks are those of `LabelGraph.from_labels(Y, weighted=True)`; its memory is that of
    Y, where Y'Y of Delicious-200K takes tens of GB.
    """

    Y: sp.csr_matrix

    @property
    def n_labels(self) -> int:
        return int(self.Y.shape[1])

    @property
    def n_nodes(self) -> int:
        return self.n_labels

    def walks(self, per_node: int, length: int, seed: int) -> npt.NDArray[np.int32]:
        """(per_node * n_labels, length) label ids: every label begins `per_node` walks, in a shuffled order."""
        points, by_label = canonical(self.Y), sp.csr_matrix(self.Y.T)
        rows, columns = ((m.indptr.astype(np.int64), m.indices.astype(np.int32)) for m in (points, by_label))
        return random_walks_by_points(rows, columns, _starts(self.n_labels, per_node, seed), length, seed)


def _starts(n_nodes: int, per_node: int, seed: int) -> npt.NDArray[np.int32]:
    order, nodes = np.random.default_rng(seed), np.arange(n_nodes, dtype=np.int32)
    return np.concatenate([order.permutation(nodes) for _ in range(per_node)])


def _edges(matrix: sp.csr_matrix, weighted: bool) -> sp.csr_matrix:
    """The same without loops, in order, and with ones for weights unless `weighted`."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    kept = rows != matrix.indices
    values = matrix.data[kept] if weighted else np.ones(int(kept.sum()), dtype=np.float32)
    edges = sp.csr_matrix((values, (rows[kept], matrix.indices[kept])), shape=matrix.shape, dtype=np.float32)
    edges.sort_indices()
    return edges


def graph_of(
    Y: sp.csr_matrix, edges: str, hierarchy: str = "", label_names: Sequence[str] | None = None
) -> LabelGraph | SharedPoints:
    """The graph to walk over: of a hierarchy's file where there is one (3.2), else of label sets Y.

    edges: plain (one between two labels that ever share a point) or counts (one for each point that they share).
    """
    if hierarchy:
        return LabelGraph.from_hierarchy(hierarchy, int(Y.shape[1]), label_names)
    return SharedPoints(Y) if edges == "counts" else LabelGraph.from_labels(Y)
