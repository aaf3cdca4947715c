"""The forest: clusters by labels, ways by words, leaves and opinions as plain sums have them, damaged files."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse as sp

from zipfel.errors import ModelFileError
from zipfel.neighbors._forest import FAN
from zipfel.neighbors.forest import Forest, ForestConfig, _weighted
from zipfel.neighbors.votes import FAINT
from zipfel.neighbors.words import WordIndex

Array = npt.NDArray[Any]
N, N_LABELS = 400, 30
CONFIG = ForestConfig(trees=5, leaf=8, sample=60)


def _points(n: int = N, seed: int = 0) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """Points with some labels, and words that tell of them; the last ones have no label, or no word."""
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, N_LABELS)) < 0.08).astype(np.float32)
    X = Y @ (rng.random((N_LABELS, 80)) < 0.1) + (rng.random((n, 80)) < 0.03) * rng.random((n, 80))
    Y[-1], X[-2] = 0, 0
    return sp.csr_matrix(X, dtype=np.float32), sp.csr_matrix(Y, dtype=np.float32)


def _seen(n: int = N) -> Array:
    seen = np.ones(n, dtype=bool)
    seen[::7] = False
    return seen


@pytest.fixture(scope="module")
def made() -> tuple[WordIndex, sp.csr_matrix, Forest]:
    X, Y = _points()
    words = WordIndex.build(X, np.diff(Y.indptr) > 0)
    return words, Y, Forest.fit(CONFIG, words, Y, _seen(), seed=3)


def _dense(rows: sp.csr_matrix) -> Array:
    found = rows.toarray().astype(np.float64)
    return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12)


def _nodes(forest: Forest, tree: int) -> list[tuple[int, Array, Array]]:
    """(first child, members, classes) of each node of a tree, by the numbers that the class's text gives; -1: a leaf"""
    begin = forest.sizes[:tree].sum()
    found, inner = [], int(forest.is_split[:begin].sum())
    for node in range(forest.sizes[tree]):
        if not forest.is_split[begin + node]:
            found.append((-1, np.zeros(0, int), np.zeros(0, int)))
            continue
        its = slice(forest.edges[inner], forest.edges[inner + 1])
        first = 1 + FAN * (inner - int(forest.is_split[:begin].sum()))
        found.append((first, forest.members[its], forest.classes[its]))
        inner += 1
    return found


def _plain_leaf(nodes: list[tuple[int, Array, Array]], x: Array, rows: Array) -> int:
    """Where a document ends: at each node the child whose members' sum is most like it."""
    node = 0
    while nodes[node][0] >= 0:
        first, members, classes = nodes[node]
        sums = np.array([rows[members[classes == c]].sum(axis=0) for c in range(FAN)])
        lengths = np.linalg.norm(sums, axis=1)
        cosines = np.where(lengths > 0, sums @ x / np.maximum(lengths, 1e-12), -np.inf)
        node = first + int(cosines.argmax())
    return node


def test_points_and_documents_go_where_the_words_of_a_cluster_are_most_like_theirs(
    made: tuple[WordIndex, sp.csr_matrix, Forest],
) -> None:
    words, _, forest = made
    asked, _ = _points(60, seed=1)
    leaves, rows = forest.find(words, asked), _dense(words.rows)
    documents, known = _dense(asked), np.flatnonzero(np.diff(words.rows.indptr) > 0)[:60]
    for tree in range(CONFIG.trees):
        nodes = _nodes(forest, tree)
        assert leaves[:-2, tree].tolist() == [_plain_leaf(nodes, x, rows) for x in documents[:-2]]
        assert forest.leaves[known, tree].tolist() == [_plain_leaf(nodes, rows[i], rows) for i in known]


def test_members_are_clustered_by_their_label_sets(made: tuple[WordIndex, sp.csr_matrix, Forest]) -> None:
    """The first 16 of a node's members are the first centres; then each cluster's mean is."""
    _, Y, forest = made
    labels = _dense(_weighted(Y, forest.voters))
    for _, members, classes in (node for tree in range(CONFIG.trees) for node in _nodes(forest, tree) if node[0] >= 0):
        own = labels[members]
        first = (own @ own[:FAN].T).round(6).argmax(axis=1)
        sums = np.array([own[first == c].sum(axis=0) for c in range(FAN)])
        lengths = np.linalg.norm(sums, axis=1)
        cosines = np.where(lengths > 0, own @ (sums / np.maximum(lengths, 1e-12)[:, None]).T, -np.inf)
        gap = cosines.max(axis=1) - cosines[np.arange(len(own)), classes]
        assert (gap < 1e-5).mean() > 0.98  # of equal centres another may have been taken in the first round


def test_trees_are_shaped_by_the_points_that_are_seen_only(made: tuple[WordIndex, sp.csr_matrix, Forest]) -> None:
    words, Y, forest = made
    assert forest.voters[forest.members].all()
    assert not forest.voters[-2:].any()  # no words, no labels
    assert forest.leaves.shape == (N, CONFIG.trees)
    others = Y.copy()
    hidden = np.isin(np.repeat(np.arange(N), np.diff(Y.indptr)), np.flatnonzero(~_seen()))
    others.indices[hidden] = (others.indices[hidden] * 7 + 3) % N_LABELS
    again = Forest.fit(CONFIG, words, others, _seen(), seed=3)
    np.testing.assert_array_equal(again.leaves, forest.leaves)
    np.testing.assert_array_equal(again.members, forest.members)


def test_leaves_are_small_and_nodes_no_larger_than_the_sample(made: tuple[WordIndex, sp.csr_matrix, Forest]) -> None:
    _, _, forest = made
    assert np.diff(forest.edges).max() <= CONFIG.sample
    assert np.diff(forest.edges).min() > CONFIG.leaf
    for tree in range(CONFIG.trees):
        voters = np.bincount(forest.leaves[forest.voters, tree])
        assert voters.max() <= 2 * CONFIG.leaf  # but for points that no word tells apart


def test_opinions_are_mean_shares_of_the_leaves_voters(made: tuple[WordIndex, sp.csr_matrix, Forest]) -> None:
    words, Y, forest = made
    asked, _ = _points(20, seed=2)
    leaves = forest.find(words, asked)
    labels = np.random.default_rng(0).permutation(N_LABELS)[None].repeat(20, axis=0)
    labels[:, 3] = -1
    share, log_share = forest.opinions(leaves, labels, Y)
    Y_dense = Y.toarray()
    for i in range(20):
        wanted = np.zeros(N_LABELS)
        for tree in range(CONFIG.trees):
            voters = np.flatnonzero(forest.voters & (forest.leaves[:, tree] == leaves[i, tree]))
            if len(voters):
                wanted += Y_dense[voters].mean(axis=0) / CONFIG.trees
        np.testing.assert_allclose(share[i], np.where(labels[i] < 0, 0, wanted[labels[i]]), atol=1e-6)
    np.testing.assert_allclose(log_share, np.log(share + FAINT), rtol=1e-5)


def test_a_document_alone_comes_to_the_same_leaves() -> None:
    """With words that are frequent, and there or not, so that many ways are equally near."""
    rng = np.random.default_rng(0)
    X = sp.csr_matrix((rng.random((N, 9)) < 0.4).astype(np.float32))
    Y = sp.csr_matrix((rng.random((N, 5)) < 0.4).astype(np.float32))
    words = WordIndex.whole(X)
    forest = Forest.fit(CONFIG, words, Y, np.ones(N, dtype=bool), seed=0)
    asked = sp.csr_matrix((rng.random((60, 9)) < 0.4).astype(np.float32))
    together = forest.find(words, asked)
    np.testing.assert_array_equal(np.vstack([forest.find(words, row) for row in asked]), together)


def test_new_points_vote_in_the_leaves_that_they_come_to(made: tuple[WordIndex, sp.csr_matrix, Forest]) -> None:
    words, Y, forest = made
    X, more = _points(10, seed=5)
    all_of_them = words.joined(X, np.arange(10) == 0)  # the others have no vote
    grown = forest.with_voters(words.can_vote).joined(all_of_them, X)
    forest = forest.with_voters(words.can_vote)
    one = grown.find(all_of_them, X[0])
    np.testing.assert_array_equal(one[0], grown.leaves[N])
    labels = np.arange(N_LABELS)[None]
    before, after = (f.opinions(one, labels, y)[0][0] for f, y in ((forest, Y), (grown, sp.vstack([Y, more]).tocsr())))
    own = more[0].indices
    assert (after[own] > before[own]).all()
    others = np.setdiff1d(np.arange(N_LABELS), own)
    assert (after[others] <= before[others]).all()


def test_columns_that_no_point_has_cost_nothing(made: tuple[WordIndex, sp.csr_matrix, Forest]) -> None:
    words, Y, forest = made
    far = 10**8  # a table of all would take gigabytes
    wide = [sp.csr_matrix((m.data, m.indices * 10**6, m.indptr), shape=(N, far)) for m in (words.rows, Y)]
    again = Forest.fit(CONFIG, WordIndex(wide[0]), wide[1], _seen(), seed=3)
    np.testing.assert_array_equal(again.leaves, forest.leaves)


def test_of_many_voters_in_a_leaf_some_are_asked() -> None:
    X = sp.csr_matrix(np.ones((1000, 1), dtype=np.float32))
    Y = sp.csr_matrix((np.arange(1000)[:, None] % [2, 4] == 0).astype(np.float32))
    words = WordIndex.whole(X)
    forest = Forest.fit(CONFIG, words, Y, np.ones(1000, dtype=bool), seed=0)
    edges, voters = forest._ballots
    assert np.diff(edges).max() == 100
    assert len(np.unique(voters)) == 100
    share, _ = forest.opinions(forest.find(words, X[:1]), np.array([[0, 1]]), Y)
    np.testing.assert_allclose(share, [[Y[voters, 0].mean(), Y[voters, 1].mean()]], atol=1e-5)
    np.testing.assert_allclose(share, [[0.5, 0.25]], atol=0.15)


def test_few_points_are_one_leaf() -> None:
    X, Y = _points(6)
    words = WordIndex.whole(X)
    forest = Forest.fit(CONFIG, words, Y, np.ones(6, dtype=bool), seed=0)
    assert not forest.is_split.any()
    assert not forest.find(words, X).any()
    share, _ = forest.opinions(forest.find(words, X), np.arange(N_LABELS)[None].repeat(6, axis=0), Y)
    np.testing.assert_allclose(share[0], Y.toarray()[forest.voters].mean(axis=0), atol=1e-6)


def test_it_is_restored_as_it_was_and_damage_is_refused(made: tuple[WordIndex, sp.csr_matrix, Forest]) -> None:
    words, _, forest = made
    asked, _ = _points(30, seed=6)
    state = forest.state()
    again = Forest.restored(state, forest.voters)
    np.testing.assert_array_equal(again.find(words, asked), forest.find(words, asked))
    np.testing.assert_array_equal(again._ballots[1], forest._ballots[1])
    fewer = state["is_split"].copy()
    fewer[fewer.argmax()] = 0
    damages: dict[str, tuple[str, Array]] = {
        "a member beyond the points": ("members", np.where(np.arange(len(state["members"])) == 3, N, state["members"])),
        "a class too many": ("classes", state["classes"] + np.uint8(FAN)),
        "a leaf beyond the tree": ("leaves", state["leaves"] + np.uint16(20_000)),
        "edges that fall": ("edges", state["edges"][::-1].copy()),
        "scales that are no numbers": ("scales", state["scales"] * np.float32(np.nan)),
        "another number of nodes": ("sizes", state["sizes"] + 1),
        "a tree without nodes": ("sizes", state["sizes"] * 0),
        "sizes whose sum wraps around": ("sizes", np.append(state["sizes"][:1], np.full(4, 2**62))),
        "sizes that are not signed": ("sizes", state["sizes"].astype(np.uint64)),
        "a node that is split before it comes": ("is_split", np.roll(state["is_split"], 40)),
        "a node less that is split": ("is_split", fewer),
        "leaves of other points": ("leaves", state["leaves"][:-1]),
        "numbers with a fraction": ("members", state["members"].astype(np.float32)),
    }  # fmt: skip
    for name, array in damages.values():
        with pytest.raises(ModelFileError, match="forest"):
            Forest.restored(state | {name: array}, forest.voters)
    with pytest.raises(ModelFileError, match="lacks edges"):
        Forest.restored({name: array for name, array in state.items() if name != "edges"}, forest.voters)
