"""The label tree: halves of like labels, problems and opinions equal to the plain sums, new labels, damaged files."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse as sp

from zipfel.errors import ModelFileError
from zipfel.linear import LinearClassifiers, LinearConfig
from zipfel.linear.tree import LabelTree, TreeClassifiers

Array = npt.NDArray[Any]
N_LABELS = 23


def _points(n: int = 80, seed: int = 0) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """Points with some of the labels, the last of which none has, and features that tell of them."""
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, N_LABELS)) < 0.12).astype(np.float32)
    Y[:, -1], Y[0] = 0, 0
    X = Y @ rng.random((N_LABELS, 40)) + rng.random((n, 40)) * (rng.random((n, 40)) < 0.2)
    return sp.csr_matrix(X, dtype=np.float32), sp.csr_matrix(Y)


def _tree(leaf: int, seed: int = 0) -> LabelTree:
    means = np.random.default_rng(seed).normal(size=(N_LABELS - 1, 8)).astype(np.float32)
    means[3] = 0  # of points that no landmark knows
    return LabelTree.grow(N_LABELS, np.arange(N_LABELS - 1), means, leaf, np.random.default_rng(1))


def _above(tree: LabelTree, label: int) -> list[int]:
    """Branches above a label, by the numbers that the module's text gives them."""
    return [2**level - 2 + (int(tree.leaf[label]) >> (tree.depth - level)) for level in range(1, tree.depth + 1)]


@pytest.mark.parametrize("leaf", [2, 5, 30])
def test_leaves_hold_every_label_once_and_are_of_one_size(leaf: int) -> None:
    tree = _tree(leaf)
    assert tree.leaf[-1] == -1
    sizes = np.bincount(tree.leaf[:-1], minlength=1 << tree.depth)
    assert sizes.sum() == N_LABELS - 1
    assert sizes.max() <= leaf
    assert sizes.max() - sizes.min() <= 1
    assert (N_LABELS - 1) / 2 ** max(0, tree.depth - 1) > leaf or tree.depth == 0  # no deeper than needed


def test_like_labels_share_branches() -> None:
    groups = np.repeat(np.eye(4, dtype=np.float32), 6, axis=0)
    means = groups + 0.1 * np.random.default_rng(0).random(groups.shape, dtype=np.float32)
    leaf = LabelTree.grow(24, np.arange(24), means, 6, np.random.default_rng(0)).leaf.reshape(4, 6)
    assert (leaf == leaf[:, :1]).all()
    assert len(set(leaf[:, 0])) == 4


@pytest.mark.parametrize("leaf", [2, 5, 30])
def test_branches_learn_below_their_parent_and_labels_within_their_leaf(leaf: int) -> None:
    tree, Y = _tree(leaf), _points()[1]
    problems = tree.problems(Y)
    own = [set(row) for row in (Y.indices[a:b].tolist() for a, b in zip(Y.indptr, Y.indptr[1:], strict=False))]
    for branch in range(tree.n_branches):
        has = {d for d, labels in enumerate(own) if any(branch in _above(tree, label) for label in labels)}
        twin = {d for d, labels in enumerate(own) if any(branch ^ 1 in _above(tree, label) for label in labels)}
        _assert_problem(problems, branch, has, twin - has)
    for label in range(N_LABELS - 1):
        has = {d for d, labels in enumerate(own) if label in labels}
        near = {d for d, labels in enumerate(own) if any(tree.leaf[k] == tree.leaf[label] for k in labels)}
        _assert_problem(problems, tree.n_branches + label, has, near - has)
    _assert_problem(problems, tree.n_branches + N_LABELS - 1, set(), set())


def _assert_problem(problems: Any, place: int, positive: set[int], negative: set[int]) -> None:
    docs, n = problems.docs[problems.ptr[place] : problems.ptr[place + 1]].tolist(), problems.n_positive[place]
    assert docs[:n] == sorted(positive)
    assert docs[n:] == sorted(negative)


def _ranker(leaf: int) -> tuple[TreeClassifiers, sp.csr_matrix]:
    (X, Y), tree = _points(), _tree(leaf)
    return TreeClassifiers(tree, LinearClassifiers(LinearConfig(damping=1.0, cost=1.0)).fit(X, tree.problems(Y))), X


@pytest.mark.parametrize("leaf", [2, 30])
def test_opinions_equal_the_plain_sums(leaf: int) -> None:
    ranker, X = _ranker(leaf)
    rng, tree = np.random.default_rng(3), ranker.tree
    labels = np.stack([rng.permutation(N_LABELS)[:9] for _ in range(X.shape[0])])
    labels[2, 5:] = -1
    branches, leaves = ranker.opinions(X, labels)
    everything = np.tile(np.arange(tree.n_branches + N_LABELS), (X.shape[0], 1))
    short = np.maximum(0, 1 - ranker.classifiers.score(X, everything)) ** 2
    for i, j in np.ndindex(*labels.shape):
        label = labels[i, j]
        if label < 0:
            assert branches[i, j] == leaves[i, j] == 0
            continue
        if label == N_LABELS - 1:  # not in the tree
            assert np.isnan([branches[i, j], leaves[i, j]]).all()
            continue
        np.testing.assert_allclose(branches[i, j], -short[i, _above(tree, label)].sum(), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(leaves[i, j], -short[i, tree.n_branches + label], rtol=1e-4, atol=1e-5)


def test_new_labels_join_their_likes_or_are_left_alone() -> None:
    means = np.repeat(np.eye(3, dtype=np.float32), 4, axis=0)
    tree = LabelTree.grow(14, np.arange(12), means, 4, np.random.default_rng(0))
    joined = tree.with_labels(np.arange(13), np.vstack([means, means[[5]]]))
    np.testing.assert_array_equal(joined.leaf[:12], tree.leaf[:12])
    assert joined.leaf[12] == tree.leaf[5]
    assert joined.leaf[13] == -1
    assert joined.depth == tree.depth


def test_labels_that_came_later_are_unknown() -> None:
    ranker, X = _ranker(3)
    wide = ranker.widened(N_LABELS + 2)
    labels = np.tile([*range(15), N_LABELS + 1], (X.shape[0], 1))
    for opinion, before in zip(wide.opinions(X, labels), ranker.opinions(X, labels[:, :-1]), strict=True):
        np.testing.assert_array_equal(opinion[:, :-1], before)
        assert np.isnan(opinion[:, -1]).all()
    again = TreeClassifiers.restored(wide.state(), X.shape[1], N_LABELS + 2)
    np.testing.assert_array_equal(again.opinions(X, labels), wide.opinions(X, labels))


def test_opinions_are_numbers_whatever_the_features() -> None:
    ranker, X = _ranker(3)
    labels = np.tile(np.arange(N_LABELS - 1), (X.shape[0], 1))  # the last is not in the tree
    assert np.isfinite(ranker.opinions(X * np.float32(1e21), labels)).all()


def test_a_saved_tree_answers_the_same_and_a_damaged_one_is_refused() -> None:
    ranker, X = _ranker(3)
    arrays, labels = ranker.state(), np.tile(np.arange(N_LABELS), (X.shape[0], 1))
    again = TreeClassifiers.restored(arrays, X.shape[1], N_LABELS)
    np.testing.assert_array_equal(again.opinions(X, labels), ranker.opinions(X, labels))
    beyond = np.where(arrays["leaf"] == 0, 1 << int(arrays["depth"][0]), arrays["leaf"]).astype(np.int32)
    broken: list[dict[str, Array]] = [
        {"leaf": arrays["leaf"][:-1]},
        {"leaf": beyond},
        {"leaf": arrays["leaf"] - 1},
        {"depth": np.array([60])},
        {"depth": np.array([-1])},
        {"depth": np.array(3)},
        {"depth": arrays["depth"] + 1},  # as many classifiers as there are do not suffice
        {"indptr": np.append(np.append(0, [2**63 - 1, -(2**63), -1]), arrays["indptr"][4:])},
        {"features": arrays["features"] + np.uint16(999)},
    ]
    for change in broken:
        with pytest.raises(ModelFileError):
            TreeClassifiers.restored({**arrays, **change}, X.shape[1], N_LABELS)
    with pytest.raises(ModelFileError):
        TreeClassifiers.restored({name: a for name, a in arrays.items() if name != "leaf"}, X.shape[1], N_LABELS)


def test_leaves_of_label_sets() -> None:
    tree = LabelTree(np.array([0, 1, 1, 2], dtype=np.int32), 2)
    Y = sp.csr_matrix(np.array([[1, 1, 1, 0], [0, 0, 0, 0], [0, 0, 1, 1]], dtype=np.float32))
    assert tree.leaves(Y).toarray().tolist() == [[1, 1, 0], [0, 0, 0], [0, 1, 1]]
