"""A vector for every label: DeepWalk over the label graph, and the two controls it has to beat."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.linalg import svds

from zipfel.graph.label_graph import LabelGraph, SharedPoints
from zipfel.index.base import unit_rows
from zipfel.kernels.skipgram import skipgram_pass

Floats = npt.NDArray[np.float32]

NOISE_TABLE = 1 << 20
WALK_STEPS = 4_000_000
"""Steps that skip-gram sees at least (but no more than 200 walks from a label): small graphs need many walks."""
RATE, LAST_RATE = 0.025, 0.0001  # word2vec's


def deepwalk(
    graph: LabelGraph | SharedPoints,
    dim: int,
    *,
    walks: int | None = None,
    length: int = 40,
    window: int = 2,
    negatives: int = 5,
    passes: int = 1,
    seed: int = 0,
) -> Floats:
    """(n_labels, dim): skip-gram with negative sampling on random walks (Perozzi et al. 2014).

    walks: from each label; None: 10, or what makes `WALK_STEPS` in all. A label without edges walks
    on the spot; the noise alone then moves its vector, which is never zero.
    """
    corpus = graph.walks(walks or max(10, min(200, WALK_STEPS // (graph.n_nodes * length))), length, seed)
    rng = np.random.default_rng([seed, 1])
    nodes = ((rng.random((graph.n_nodes, dim)) - 0.5) / dim).astype(np.float32)  # word2vec's start
    contexts = np.zeros((graph.n_nodes, dim), dtype=np.float32)
    noise = noise_table(corpus, graph.n_nodes)
    gradient, drawn = np.empty(dim, dtype=np.float32), np.empty(negatives, dtype=np.int32)
    rates = np.linspace(RATE, LAST_RATE, passes + 1, dtype=np.float32)
    for turn in range(passes):
        skipgram_pass(
            corpus, window, noise, negatives, rates[turn], rates[turn + 1], seed * 1009 + turn,
            nodes, contexts, gradient, drawn,
        )  # fmt: skip
        corpus = corpus[rng.permutation(len(corpus))]
    return nodes[: graph.n_labels]


def noise_table(corpus: npt.NDArray[np.int32], n_nodes: int) -> npt.NDArray[np.int32]:
    """Node ids, each as often as its count to the power of 3/4 (word2vec's noise); drawing is one look-up."""
    share = np.bincount(corpus.ravel(), minlength=n_nodes).astype(np.float64) ** 0.75
    edges = np.cumsum(share) / share.sum() * max(NOISE_TABLE, n_nodes)
    return np.searchsorted(edges, np.arange(max(NOISE_TABLE, n_nodes)) + 0.5).astype(np.int32)


def ppmi_svd(Y: sp.csr_matrix, dim: int, *, seed: int = 0) -> Floats:
    """(n_labels, dim): the positive pointwise mutual information of labels that share points, cut to `dim` factors.

    Labels without any such partner get a small random vector.
    """
    n_labels = int(Y.shape[1])
    together = sp.coo_matrix(Y.T @ Y, dtype=np.float64)
    apart = together.row != together.col
    rows, columns, counts = together.row[apart], together.col[apart], together.data[apart]
    vectors: Floats = random_vectors(n_labels, dim, seed=seed) * np.float32(1e-2)
    if not len(counts):
        return vectors
    degree = np.bincount(rows, weights=counts, minlength=n_labels)
    pmi = np.log(counts * counts.sum() / (degree[rows] * degree[columns]))
    matrix = sp.csr_matrix((np.maximum(pmi, 0.0), (rows, columns)), shape=(n_labels, n_labels))
    rank = min(dim, n_labels - 1)
    if rank < 1 or not matrix.count_nonzero():
        return vectors
    start = np.random.default_rng(seed).standard_normal(n_labels)
    left, values, _ = svds(matrix, k=rank, v0=start)
    found = left * np.sqrt(values)
    known = np.abs(found).sum(axis=1) > 0
    vectors[known, :rank] = found[known]
    return vectors


def random_vectors(n_labels: int, dim: int, *, seed: int = 0) -> Floats:
    """(n_labels, dim): directions drawn at random, about one long."""
    drawn = np.random.default_rng(seed).standard_normal((n_labels, dim)) / np.sqrt(dim)
    return np.asarray(drawn, dtype=np.float32)


def with_own_directions(vectors: Floats, dim: int, seed: int) -> Floats:
    """(n_labels, l + dim): vectors (n_labels, l) of unit length, and beside each a random direction of the label's own,
    twice as long; dim 0 leaves the vectors as they are."""
    if not dim:
        return vectors
    return np.hstack([unit_rows(vectors), 2 * unit_rows(random_vectors(len(vectors), dim, seed=seed))])
