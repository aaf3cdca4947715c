from __future__ import annotations

import importlib.util

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from zipfel.errors import ParameterError, ZipfelError
from zipfel.ranking import PAD, Ranking

SCORES = hnp.arrays(
    np.float32,
    st.tuples(st.integers(1, 5), st.integers(1, 30)),
    elements=st.sampled_from([-np.inf, -1.5, 0.0, 0.25, 0.5, 2.0]),  # few values: many ties
)


def best_of(row: np.ndarray, k: int) -> list[int]:
    """The plain rule: highest first, ties to the lowest id, -inf is no candidate."""
    found = sorted((label for label in range(len(row)) if row[label] > -np.inf), key=lambda label: (-row[label], label))
    return (found + [PAD] * k)[:k]


@given(SCORES, st.integers(1, 40))
def test_from_dense_is_the_plain_rule(scores: np.ndarray, k: int) -> None:
    ranking = Ranking.from_dense(scores, k)
    assert ranking.labels.tolist() == [best_of(row, k) for row in scores]
    for row, labels, values in zip(scores, ranking.labels, ranking.scores, strict=True):
        assert values.tolist() == [row[label] if label != PAD else -np.inf for label in labels]


@given(SCORES, st.integers(1, 40), st.randoms(use_true_random=False))
def test_from_dense_with_named_columns_does_not_depend_on_their_order(scores: np.ndarray, k: int, random) -> None:
    columns = list(range(scores.shape[1]))
    random.shuffle(columns)
    labels = np.broadcast_to(np.array(columns), scores.shape)
    shuffled = Ranking.from_dense(np.ascontiguousarray(scores[:, columns]), k, labels)
    np.testing.assert_array_equal(shuffled.labels, Ranking.from_dense(scores, k).labels)


@given(SCORES, st.integers(1, 40))
def test_from_csr_is_from_dense_of_what_is_stored(scores: np.ndarray, k: int) -> None:
    stored = scores > -np.inf
    matrix = sp.csr_matrix((scores[stored], np.nonzero(stored)), shape=scores.shape)
    ranking, dense = Ranking.from_csr(matrix, k), Ranking.from_dense(scores, k)
    np.testing.assert_array_equal(ranking.labels, dense.labels)
    np.testing.assert_array_equal(ranking.scores, dense.scores)


@given(SCORES)
def test_to_csr_and_back(scores: np.ndarray) -> None:
    ranking = Ranking.from_dense(scores, scores.shape[1])
    matrix = ranking.to_csr(scores.shape[1])
    assert matrix.has_sorted_indices
    again = Ranking.from_csr(matrix, scores.shape[1])
    np.testing.assert_array_equal(again.labels, ranking.labels)


def test_rows_names_and_parts() -> None:
    ranking = Ranking.from_dense(np.array([[0.5, 2.0], [-np.inf, 1.0]], dtype=np.float32), 2)
    assert list(ranking.rows()) == [[("1", 2.0), ("0", 0.5)], [("1", 1.0)]]
    named = ranking.with_names(["ape", "bee"])
    assert list(named.top(1).rows()) == [[("bee", 2.0)], [("bee", 1.0)]]
    assert (len(named), named.n_points, named.k, named.top(1).k) == (2, 2, 2, 1)
    assert list(named[1:].rows()) == [[("bee", 1.0)]]
    assert list(named[np.array([1, 0])].rows()) == [[("bee", 1.0)], [("bee", 2.0), ("ape", 0.5)]]
    both = Ranking.concatenate([named[:1], named[1:]])
    np.testing.assert_array_equal(both.labels, named.labels)
    assert both.label_names == ["ape", "bee"]


def test_no_rows() -> None:
    empty = Ranking.from_dense(np.zeros((0, 9), dtype=np.float32), 2)
    assert empty.labels.shape == (0, 2)
    assert empty.to_csr(9).shape == (0, 9)
    assert Ranking.from_csr(sp.csr_matrix((0, 9), dtype=np.float32), 3).labels.shape == (0, 3)


def test_shapes_must_agree() -> None:
    with pytest.raises(ValueError, match="one shape"):
        Ranking(np.zeros((1, 2), dtype=np.int64), np.zeros((1, 3), dtype=np.float32))


NAMED = Ranking(
    np.array([[1, 0], [0, PAD], [PAD, PAD]]),
    np.array([[0.9, 0.5], [0.25, -np.inf], [-np.inf, -np.inf]], dtype=np.float32),
    ["<b>ape\x1b[31m", "bee"],
)


def test_a_row_is_a_list_of_pairs() -> None:
    assert [name for name, _ in NAMED[0]] == ["bee", "<b>ape\x1b[31m"]
    assert NAMED[-1] == []
    assert NAMED[np.int64(1)] == list(NAMED)[1] == list(NAMED.rows())[1]
    assert NAMED.names == [["bee", "<b>ape\x1b[31m"], ["<b>ape\x1b[31m"], []]
    for rows in (slice(1, 3), [1, 2], np.array([False, True, True])):
        part = NAMED[rows]
        assert isinstance(part, Ranking)
        assert part.labels.tolist() == [[0, PAD], [PAD, PAD]]
    with pytest.raises(IndexError):
        NAMED[3]


def test_shown_short_and_without_escape_codes() -> None:
    assert repr(NAMED).splitlines()[:2] == [
        "Ranking of 3 documents, k=2",
        "  0: bee 0.9, <b>ape\N{REPLACEMENT CHARACTER}[31m 0.5",
    ]
    long = Ranking(np.zeros((1000, 100), dtype=np.int64), np.zeros((1000, 100), dtype=np.float32))
    assert len(repr(long)) < 800
    assert len(long._repr_html_()) < 70_000
    assert "and 980 more" in long._repr_html_()
    assert "&lt;b&gt;ape" in NAMED._repr_html_()
    assert "<b>" not in NAMED._repr_html_()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_to_frame(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(library)
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: real(name) if name == library else None)
    frame = NAMED.to_frame()
    assert type(frame).__module__.split(".")[0] == library
    assert list(frame.columns) == ["document", "rank", "label", "score"]
    assert frame["document"].to_list() == [0, 0, 1]
    assert frame["rank"].to_list() == [1, 2, 1]
    assert frame["label"].to_list() == ["bee", "<b>ape\x1b[31m", "<b>ape\x1b[31m"]
    assert frame["score"].to_list() == pytest.approx([0.9, 0.5, 0.25])


def test_to_frame_without_a_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ZipfelError, match="pip install pandas"):
        NAMED.to_frame()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_to_frame_of_the_library_that_is_named(library: str) -> None:
    module = pytest.importorskip(library)
    assert isinstance(NAMED.to_frame(library), module.DataFrame)
    with pytest.raises(ParameterError, match="pandas, polars"):
        NAMED.to_frame("excel")
