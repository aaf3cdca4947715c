"""The label graph: edges of a small Y by hand, hierarchy files good and bad."""

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.errors import DataError, ResourceError
from zipfel.graph import label_graph
from zipfel.graph.label_graph import LabelGraph, SharedPoints, graph_of
from zipfel.system.threads import use_threads

# points {0,1}, {0,1,2}, {2}, {}, {4}: edges 0-1 (twice), 0-2, 1-2; labels 3 and 4 are alone
Y = sp.csr_matrix(np.array([[1, 1, 0, 0, 0], [1, 1, 1, 0, 0], [0, 0, 1, 0, 0], [0] * 5, [0, 0, 0, 0, 1]], np.float32))


def test_edges_by_hand():
    expected = np.zeros((5, 5))
    expected[[0, 1, 0, 2, 1, 2], [1, 0, 2, 0, 2, 1]] = 1
    graph = LabelGraph.from_labels(Y)
    assert (graph.adjacency.toarray() == expected).all()
    assert graph.n_edges == 3
    assert graph.isolated.tolist() == [False, False, False, True, True]
    expected[[0, 1], [1, 0]] = 2
    assert (LabelGraph.from_labels(Y, weighted=True).adjacency.toarray() == expected).all()


def test_weighted_walks_prefer_heavy_edges():
    many = sp.vstack([Y[:1]] * 50 + [Y[1:2]])
    walks = LabelGraph.from_labels(sp.csr_matrix(many), weighted=True).walks(2000, 2, seed=0)
    from_zero = walks[walks[:, 0] == 0, 1]
    assert (from_zero == 1).mean() > 0.95
    assert (from_zero == 2).any()


def test_every_node_begins_as_many_walks():
    walks = LabelGraph.from_labels(Y).walks(3, 4, seed=0)
    assert walks.shape == (15, 4)
    assert (np.bincount(walks[:, 0]) == 3).all()


def test_hierarchy_by_names_has_inner_nodes(tmp_path):
    file = tmp_path / "tree.tsv"
    file.write_text("# a comment\nroot\tbig cat\nroot\tdog\n\nbig cat\tlion\n", encoding="utf-8")
    graph = LabelGraph.from_hierarchy(file, 3, ["lion", "dog", "big cat"])
    assert graph.n_nodes == 4
    assert graph.n_labels == 3
    assert graph.adjacency.toarray().tolist() == [[0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 0, 1], [0, 1, 1, 0]]


def test_hierarchy_by_ids_takes_ids_beyond_the_labels_as_inner_nodes(tmp_path):
    file = tmp_path / "tree.txt"
    file.write_text("999999999999 0\n999999999999 1\n0 0\n")
    graph = LabelGraph.from_hierarchy(file, 3)
    assert graph.n_nodes == 4  # and not a million million
    assert graph.n_edges == 2


def test_a_bad_hierarchy_line_is_named(tmp_path):
    file = tmp_path / "tree.txt"
    file.write_text("0 1\n0 1 2\n")
    with pytest.raises(DataError, match=r"tree\.txt:2: .*parent and a child"):
        LabelGraph.from_hierarchy(file, 3)


def test_an_empty_hierarchy_leaves_every_label_alone(tmp_path):
    (tmp_path / "none.txt").write_text("")
    assert LabelGraph.from_hierarchy(tmp_path / "none.txt", 3).isolated.all()


def test_too_many_pairs_are_refused_beforehand(monkeypatch):
    monkeypatch.setattr(label_graph, "MAX_PAIRS", 5)
    with pytest.raises(ResourceError, match="label pairs"):
        LabelGraph.from_labels(Y)


def test_walks_by_points_are_those_of_the_weighted_graph_without_its_matrix():
    """From label 0 to label 1 they share two points, to label 2 one; from 2 both are as likely; 3 and 4 are alone."""
    found, expected = (g.walks(6000, 3, seed=2) for g in (SharedPoints(Y), LabelGraph.from_labels(Y, weighted=True)))
    assert found.shape == expected.shape
    for walks in (found, expected):
        for step in (0, 1):
            from_0, from_2 = (walks[walks[:, step] == label, step + 1] for label in (0, 2))
            assert abs((from_0 == 1).mean() - 2 / 3) < 0.02
            assert abs((from_2 == 0).mean() - 1 / 2) < 0.02
        assert (walks[walks[:, 0] == 3] == 3).all()
        assert (walks[walks[:, 0] == 4] == 4).all()


def test_walks_by_points_are_the_same_with_any_threads():
    found = []
    for threads in (1, 3):
        with use_threads(threads):
            found.append(SharedPoints(Y).walks(50, 6, seed=1))
    assert (found[0] == found[1]).all()


def test_the_graph_to_walk_over_is_of_a_hierarchy_or_of_label_sets(tmp_path):
    Y = sp.csr_matrix(np.array([[1, 1, 0], [1, 1, 1]], np.float32))
    plain, counts = graph_of(Y, "plain"), graph_of(Y, "counts")
    assert isinstance(plain, LabelGraph)
    assert plain.n_edges == 3
    assert isinstance(counts, SharedPoints)
    (tmp_path / "h.tsv").write_text("0\t1\n")
    assert graph_of(Y, "counts", str(tmp_path / "h.tsv")).n_edges == 1
