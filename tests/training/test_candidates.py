"""Candidate sets: complete positives, sound inclusion probabilities, no positive among a row's negatives."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from zipfel.training import CandidateSampler


def _labels(n: int, n_labels: int, seed: int) -> sp.csr_matrix:
    Y = sp.random(n, n_labels, 0.05, format="csr", dtype=np.float32, rng=np.random.default_rng(seed))
    Y.data[:] = 1
    return Y


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 40), st.integers(0, 30), st.integers(0, 5), st.integers(0, 99))
def test_targets_are_exactly_the_labels_of_the_rows(batch: int, n_sampled: int, n_hard: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    Y = _labels(60, 200, seed)
    sampler = CandidateSampler(Y, n_sampled=n_sampled, power=0.5, n_hard=n_hard)
    sampler.shortlist = rng.integers(-1, 200, size=(60, 8))
    rows = rng.choice(60, size=batch)
    found = sampler.draw(rows, Y[rows], rng)
    labels = found.labels.numpy()
    assert len(np.unique(labels)) == len(labels)
    full = np.zeros((batch, 200), dtype=np.float32)
    full[:, labels] = found.targets(batch).numpy()
    assert np.array_equal(full, Y[rows].toarray())
    assert np.all((found.inclusion.numpy() > 0) & (found.inclusion.numpy() <= 1))


def test_few_labels_are_all_candidates() -> None:
    Y = _labels(50, 30, 0)
    found = CandidateSampler(Y, n_sampled=2, all_below=100).draw(np.arange(4), Y[:4], np.random.default_rng(0))
    assert np.array_equal(found.labels.numpy(), np.flatnonzero(np.bincount(Y.indices, minlength=30)))
    assert np.all(found.inclusion.numpy() == 1)


@pytest.mark.parametrize("power", [0.0, 1.0])
def test_inclusion_is_how_often_a_label_gets_in(power: float) -> None:
    Y = _labels(400, 60, 1)
    sampler = CandidateSampler(Y, n_sampled=10, power=power)
    rng, times, batch = np.random.default_rng(0), 800, 5
    seen, said = np.zeros(60), np.zeros(60)
    for _ in range(times):
        rows = rng.choice(400, size=batch, replace=True)
        found = sampler.draw(rows, Y[rows], rng)
        seen[found.labels.numpy()] += 1
        said[found.labels.numpy()] = found.inclusion.numpy()
    # `seen` counts all rows of the batch, `said` all but one: they differ by at most one row's frequency
    frequency = np.bincount(Y.indices, minlength=60) / 400
    assert np.all(np.abs(seen / times - said)[frequency > 0] < 0.06 + frequency[frequency > 0])


def test_hard_labels_come_from_the_row_s_own_shortlist() -> None:
    Y = sp.csr_matrix((np.ones(2, np.float32), ([0, 1], [0, 1])), shape=(4, 50))
    sampler = CandidateSampler(Y, n_sampled=0, n_hard=3)
    sampler.shortlist = np.array([[10, 11], [20, 21], [30, -1], [-1, -1]])
    found = sampler.draw(np.array([1, 2]), Y[[1, 2]], np.random.default_rng(0))
    assert set(found.labels.tolist()) == {1, 20, 21, 30}
