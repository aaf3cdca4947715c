"""Steps 2 and 3 of LightDXML: the shortlist is the nearest codes, and a checkpoint has all of it."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.nn.encoder import LabelEncoder
from zipfel.points import Points
from zipfel.run import Run
from zipfel.training import Batches
from zipfel.training.cycles import Cycles

N, D, L = 30, 6, 10


def _cycles(k: int, run: Run | None = None, *, centred: bool = False, head: tuple[int, ...] = ()) -> Cycles:
    rng = np.random.default_rng(0)
    X = sp.csr_matrix(rng.random((N, D), dtype=np.float32))
    Y = sp.csr_matrix((np.ones(N, np.float32), (np.arange(N), np.arange(N) % L)), shape=(N, L))
    return Cycles(
        lambda rows: rows.toarray(), LabelEncoder(D), Points(X, Y), run or Run(seed=1, threads=1),
        epochs=1, lr=1e-3, k=k, index="exact", head=np.array(head, dtype=np.int64), centred=centred,
    )  # fmt: skip


@pytest.mark.parametrize("centred", [False, True])
def test_a_shortlist_has_the_labels_with_the_nearest_codes(centred: bool) -> None:
    cycles = _cycles(3, centred=centred)
    points, codes, mean = cycles.embed(0)
    cycles.shortlist(points, codes, mean, 0)
    assert np.allclose(mean, points.mean(axis=0) if centred else 0)
    shifted, seen = points - mean, codes - mean
    cosines = shifted @ seen.T / np.linalg.norm(shifted, axis=1)[:, None] / np.linalg.norm(seen, axis=1)
    assert np.array_equal(np.sort(cycles.shortlists), np.sort(np.argsort(-cosines, axis=1)[:, :3]))
    assert cycles.facts[0]["eq2_first"] > 0


def test_shortlists_are_searched_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, blocks = _cycles(3), _cycles(3)
    whole.shortlist(*whole.embed(0), 0)
    monkeypatch.setattr("zipfel.training.cycles._BLOCK", 7)
    blocks.shortlist(*blocks.embed(0), 0)
    assert np.array_equal(blocks.shortlists, whole.shortlists)


def test_with_as_many_as_there_are_every_label_is_on_it() -> None:
    cycles = _cycles(L)
    cycles.shortlist(*cycles.embed(0), 0)
    assert np.array_equal(cycles.shortlists, np.tile(np.arange(L), (N, 1)))


def test_a_batch_gets_positives_and_shortlist() -> None:
    cycles = _cycles(2)
    cycles.shortlist(*cycles.embed(0), 0)
    batch = next(iter(Batches(cycles.train.X, cycles.train.Y, size=5, seed=1, extend=cycles.extend).epoch(0)))
    pairs = batch.extra["pairs"]
    assert float(pairs.truth.sum()) == 5
    expected = {*cycles.shortlists[batch.rows].ravel().tolist(), *batch.Y.indices.tolist()}
    assert set(batch.ids["labels"].tolist()) == expected


def test_frequent_labels_are_on_every_shortlist() -> None:
    cycles = _cycles(2, head=(9, 4))
    cycles.shortlist(*cycles.embed(0), 0)
    batch = next(iter(Batches(cycles.train.X, cycles.train.Y, size=5, seed=1, extend=cycles.extend).epoch(0)))
    pairs = batch.extra["pairs"]
    for i, row in enumerate(batch.rows):
        mine = pairs.ids.numpy()[pairs.columns[pairs.ends[i] : pairs.ends[i + 1]]].tolist()
        assert sorted(mine) == sorted({*cycles.shortlists[row].tolist(), *cycles.train.Y[row].indices.tolist(), 9, 4})


def test_restored_it_is_as_it_was_and_seconds_are_its_own() -> None:
    run = Run(seed=1, threads=1)
    run.timings["step 2: label codes"] = 100.0
    cycles, other = _cycles(3, run), _cycles(3)
    cycles.shortlist(*cycles.embed(0), 0)
    assert 0 < cycles.seconds < 100
    other.restore(cycles.state())
    assert np.array_equal(other.shortlists, cycles.shortlists)
    assert all(np.array_equal(a, b) for a, b in zip(other.state().values(), cycles.state().values(), strict=True))
