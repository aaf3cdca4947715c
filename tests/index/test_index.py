"""One suite for every kind of index: the known answer, ties, padding, adding, removing, saving, damage."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
import torch

from zipfel.errors import ModelFileError, ParameterError
from zipfel.index import ExactIndex, build_index, load_index
from zipfel.index.base import unit_rows
from zipfel.index.bytes import ByteIndex
from zipfel.quantize import rounded
from zipfel.system.threads import use_threads

KINDS = ["exact", "hnsw", "ivfpq"]
METRICS = ["cosine", "inner"]


def _cloud(n: int = 600, dim: int = 10, seed: int = 0) -> npt.NDArray[np.float32]:
    rng = np.random.default_rng(seed)
    places = rng.standard_normal((12, dim))
    return (places[rng.integers(0, 12, n)] + 0.3 * rng.standard_normal((n, dim))).astype(np.float32)


def _sorted(vectors: npt.NDArray[np.float32], queries: npt.NDArray[np.float32], metric: str) -> npt.NDArray[np.float32]:
    if metric == "cosine":
        vectors, queries = unit_rows(vectors), unit_rows(queries)
    return queries @ vectors.T


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("kind", KINDS)
def test_finds_what_a_full_sort_finds(kind: str, metric: str) -> None:
    vectors, queries = _cloud(), _cloud(20, seed=1)
    index = build_index(vectors, kind=kind, metric=metric, k=10, queries=queries)
    ids, scores = index.search(queries, 10)
    truth = _sorted(vectors, queries, metric)
    best = np.argsort(-truth, axis=1, kind="stable")[:, :10]
    found = np.mean([np.isin(b, i).mean() for b, i in zip(best, ids, strict=True)])
    assert found >= (1.0 if kind == "exact" else 0.9)
    np.testing.assert_allclose(scores, np.take_along_axis(truth, ids, 1), rtol=1e-4, atol=1e-4)
    assert np.all(np.diff(scores, axis=1) <= 1e-6)
    assert index.recall >= 0.9


@pytest.mark.parametrize("kind", KINDS)
def test_save_and_load_answer_the_same(kind: str) -> None:
    index, queries = build_index(_cloud(), kind=kind, k=10), _cloud(9, seed=2)
    again = load_index(*index.state())
    for one, other in zip(index.search(queries, 7), again.search(queries, 7), strict=True):
        np.testing.assert_array_equal(one, other)
    assert (again.recall, again.recall_at) == (index.recall, index.recall_at)


@pytest.mark.parametrize("kind", KINDS)
def test_added_rows_are_found_and_removed_ones_are_not(kind: str) -> None:
    vectors = _cloud()
    index = build_index(vectors[:500], kind=kind, k=10)
    added = index.add(vectors[500:])
    assert added.tolist() == list(range(500, 600))
    ids, _ = index.search(vectors[590:], 1)
    assert ids[:, 0].tolist() == list(range(590, 600))
    index.remove(np.array([595, 3, 10**6]))
    ids, _ = index.search(vectors[595:596], 5)
    assert 595 not in ids
    assert len(index) == 598


@pytest.mark.parametrize("kind", KINDS)
def test_fewer_vectors_than_asked_are_padded(kind: str) -> None:
    ids, scores = build_index(_cloud(5), kind=kind).search(_cloud(2, seed=3), 8)
    assert np.all(ids[:, 5:] == -1)
    assert np.all(np.isneginf(scores[:, 5:]))
    assert np.all(np.sort(ids[:, :5], axis=1) == np.arange(5))
    assert build_index(_cloud(5), kind=kind).search(_cloud(0), 3)[0].shape == (0, 3)


def test_ties_go_to_the_lowest_id_across_blocks() -> None:
    vectors = np.ones((20_000, 2), dtype=np.float32)
    ids, _ = ExactIndex(vectors).search(vectors[:3], 4)
    assert ids.tolist() == [[0, 1, 2, 3]] * 3


def test_a_row_of_zeros_scores_zero() -> None:
    index = build_index(np.array([[0.0, 0.0], [1.0, 0.0]], dtype=np.float32))
    ids, scores = index.search(np.array([[2.0, 0.0], [0.0, 0.0]], dtype=np.float32), 2)
    assert ids.tolist() == [[1, 0], [0, 1]]
    assert scores.tolist() == [[1.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_arrays_are_refused(kind: str) -> None:
    arrays, facts = build_index(_cloud(), kind=kind, k=10).state()
    for name, array in arrays.items():
        rest = {other: found for other, found in arrays.items() if other != name}
        with pytest.raises(ModelFileError):
            load_index(rest, facts)
        with pytest.raises(ModelFileError):
            load_index({**rest, name: array[: len(array) // 2]}, facts)
    with pytest.raises(ModelFileError):
        load_index(arrays, {**facts, "kind": "nothing"})
    if kind == "hnsw":
        with pytest.raises(ModelFileError, match="graph"):
            load_index({**arrays, "neighbors": np.full_like(arrays["neighbors"], 10**6)}, facts)
    if kind == "ivfpq":
        with pytest.raises(ModelFileError, match="codes"):
            load_index({**arrays, "members": arrays["members"] + 1}, facts)


def test_a_graph_leads_nowhere_but_where_it_may() -> None:
    """faiss follows links unchecked: on a level that a node is not on, they lead into other memory."""
    arrays, facts = build_index(_cloud(), kind="hnsw", k=10).state()
    links, levels, offsets = facts["links"], arrays["levels"], arrays["offsets"]
    high = int(levels.argmax())
    low = int(np.flatnonzero(levels == 1)[0])
    assert levels[high] > 1
    neighbors = arrays["neighbors"].copy()
    neighbors[int(offsets[high]) + 2 * links] = low  # a link on the second level, to a node that is on the first only
    with pytest.raises(ModelFileError, match="graph"):
        load_index({**arrays, "neighbors": neighbors}, facts)
    tall = levels.copy()
    tall[high] = 3000
    room = 2 * links + (tall.astype(np.int64) - 1) * links
    grown = np.concatenate([[0], np.cumsum(room)])
    more = {"levels": tall, "offsets": grown.astype(offsets.dtype), "neighbors": np.full(grown[-1], -1, np.int32)}
    with pytest.raises(ModelFileError):
        load_index({**arrays, **more}, {**facts, "entry": high, "top": 2999})
    with pytest.raises(ModelFileError):
        load_index(arrays, {**facts, "entry": low})


@pytest.mark.parametrize("name", ["links", "effort", "probes", "rescore"])
@pytest.mark.parametrize("value", [0, -1, 2**31, 2**63, 1e30, "many", None])
def test_what_an_index_asks_for_has_bounds(name: str, value: object) -> None:
    kind = "hnsw" if name in ("links", "effort") else "ivfpq"
    arrays, facts = build_index(_cloud(), kind=kind, k=10).state()
    with pytest.raises(ModelFileError):
        load_index(arrays, {**facts, name: value})


def test_faiss_and_torch_share_a_process_with_threads() -> None:
    with use_threads(2):
        index = build_index(_cloud(3000), kind="ivfpq", k=5)
        before = torch.ones(300, 300) @ torch.ones(300, 300)
        ids, _ = index.search(_cloud(200), 5)
        assert torch.equal(torch.ones(300, 300) @ torch.ones(300, 300), before)
        assert ids.min() >= 0


def test_unknown_kind_and_metric() -> None:
    with pytest.raises(ParameterError, match="index kind"):
        build_index(_cloud(), kind="tree")
    with pytest.raises(ParameterError, match="metric"):
        build_index(_cloud(), metric="manhattan")


@pytest.mark.parametrize("n_queries", [1, 20])  # from bytes, and by the matrix product
def test_bytes_find_what_the_rounded_vectors_would(n_queries: int) -> None:
    vectors, queries = _cloud(), _cloud(n_queries, seed=1)
    ids = np.arange(0, 1200, 2)
    found, scores = ByteIndex(vectors, ids).search(queries, 9)
    expected, truth = ExactIndex(rounded(vectors, "int8"), ids, metric="inner").search(queries, 9)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(scores, truth, rtol=1e-5)


def test_bytes_of_added_rows_are_found_and_those_of_removed_ones_are_not() -> None:
    vectors = _cloud()
    index = ByteIndex(vectors[:500])
    index.add(vectors[500:])
    index.remove(np.arange(100))
    found, _ = index.search(vectors[550:551], 600)
    assert set(found[0].tolist()) == {-1, *range(100, 600)}


def test_bytes_of_many_vectors_are_found_in_the_nearest_clusters() -> None:
    vectors, queries = _cloud(6000, seed=2), _cloud(12, seed=3)
    index = ByteIndex(vectors, np.arange(0, 12000, 2))
    found, scores = index.search(queries, 20)
    expected, _ = ExactIndex(rounded(vectors, "int8"), np.arange(0, 12000, 2), metric="inner").search(queries, 20)
    assert np.mean([len(set(a) & set(b)) / 20 for a, b in zip(found.tolist(), expected.tolist(), strict=True)]) > 0.95
    np.testing.assert_allclose(scores, np.einsum("nd,nkd->nk", queries, index.vectors[found // 2]), rtol=1e-4)
    one, alone = index.search(queries[:1], 20)
    np.testing.assert_array_equal(one, found[:1])
    np.testing.assert_array_equal(alone, scores[:1])
