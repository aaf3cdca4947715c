"""Batches: every row once an epoch, the same for the same seed, built ahead or not; errors arrive."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.system.threads import use_threads
from zipfel.training import Batch, Batches, CandidateSampler


def _points(n: int = 53) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    rng = np.random.default_rng(0)
    X = sp.random(n, 40, 0.2, format="csr", dtype=np.float32, rng=rng)
    Y = sp.random(n, 90, 0.05, format="csr", dtype=np.float32, rng=rng)
    Y.data[:] = 1
    return X, Y


def _batches(**settings: object) -> Batches:
    X, Y = _points()
    return Batches(X, Y, size=10, seed=3, candidates=CandidateSampler(Y, n_sampled=5), **settings)  # type: ignore[arg-type]


def test_an_epoch_has_every_row_once_and_epochs_differ() -> None:
    batches = _batches()
    orders = [np.concatenate([b.rows for b in batches.epoch(e)]) for e in range(2)]
    assert all(np.array_equal(np.sort(order), np.arange(53)) for order in orders)
    assert not np.array_equal(*orders)
    assert len(batches) == 6


def test_built_ahead_or_not_they_are_the_same() -> None:
    found = []
    for threads in (1, 2):
        with use_threads(threads):
            found.append(list(_batches(keep=0.5).epoch(1)))
    for one, other in zip(*found, strict=True):
        assert np.array_equal(one.X.values, other.X.values)
        assert one.ids["labels"].tolist() == other.ids["labels"].tolist()
        assert one.generator.initial_seed() == other.generator.initial_seed()


def test_dropout_keeps_a_row_that_would_lose_everything_and_rescales() -> None:
    X, Y = _points()
    batches = Batches(X, Y, size=53, seed=0, keep=0.3)
    (batch,) = batches.epoch(0)
    before = np.diff(X[batch.rows].indptr)
    assert np.all((batch.X.counts > 0) == (before > 0))
    assert np.any(batch.X.counts[before > 1] == 1) or np.any(batch.X.counts == before)
    assert batch.X.counts.sum() < before.sum() / 2
    assert batch.X.values.max() > X.data.max()


def test_extend_adds_tables() -> None:
    def extend(batch: Batch, rng: np.random.Generator) -> None:
        batch.ids["more"] = batch.ids["features"]
        batch.extra["draw"] = rng.random()

    draws = [[b.extra["draw"] for b in _batches(extend=extend).epoch(0)] for _ in range(2)]
    assert draws[0] == draws[1]


def test_an_error_in_the_builder_is_raised_and_the_thread_ends() -> None:
    def extend(batch: Batch, rng: np.random.Generator) -> None:
        raise RuntimeError("no such thing")

    with use_threads(2), pytest.raises(RuntimeError, match="no such thing"):
        list(_batches(extend=extend).epoch(0))
    with use_threads(2):
        next(_batches().epoch(0))
    assert not [t for t in threading.enumerate() if t.name == "zipfel-batches" and t.is_alive()]
