"""Walks: every step follows an edge, in the right proportions, and threads change nothing."""

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.kernels.walks import random_walks
from zipfel.system.threads import use_threads

EVEN = np.zeros(0, dtype=np.float32)


def ring(n=50, seed=0):
    """A ring with some chords; node n - 1 is alone."""
    rng = np.random.default_rng(seed)
    a = np.concatenate([np.arange(n - 1), rng.integers(0, n - 1, 30)])
    b = np.concatenate([np.roll(np.arange(n - 1), 1), rng.integers(0, n - 1, 30)])
    m = sp.csr_matrix((np.ones(len(a)), (a, b)), shape=(n, n))
    m = sp.csr_matrix(((m + m.T) > 0).astype(np.float32))
    m.setdiag(0)
    m.eliminate_zeros()
    m.sort_indices()
    return m


def walk(m, starts, length, seed, cumulative=EVEN):
    starts = np.asarray(starts, dtype=np.int32)
    return random_walks(m.indptr.astype(np.int64), m.indices.astype(np.int32), cumulative, starts, length, seed)


def test_every_step_follows_an_edge():
    m = ring()
    walks = walk(m, np.arange(49), 30, seed=3)
    assert (np.asarray(m[walks[:, :-1].ravel(), walks[:, 1:].ravel()]) == 1).all()
    assert (walks[:, 0] == np.arange(49)).all()


def test_a_node_alone_walks_on_the_spot():
    assert (walk(ring(), [49], 5, seed=0) == 49).all()


def test_threads_and_blocks_do_not_change_a_walk():
    m, starts = ring(), np.tile(np.arange(50), 20)
    with use_threads(1):
        one = walk(m, starts, 12, seed=7)
    with use_threads(3):
        three = walk(m, starts, 12, seed=7)
    assert (one == three).all()
    assert (one != walk(m, starts, 12, seed=8)).any()


@pytest.mark.parametrize("weights", [(1, 1, 1, 1), (1, 2, 3, 4), (0.5, 0, 8, 0.25)])
def test_steps_are_drawn_in_proportion_to_the_weights(weights):
    star = sp.csr_matrix((np.array(weights, np.float32), ([0] * 4, [1, 2, 3, 4])), shape=(5, 5))
    cumulative = EVEN if len(set(weights)) == 1 else np.cumsum(weights).astype(np.float32)
    ends = walk(star, np.zeros(40_000), 2, seed=1, cumulative=cumulative)[:, 1]
    share = np.bincount(ends, minlength=5)[1:] / 40_000
    assert np.abs(share - np.array(weights) / sum(weights)).max() < 0.01
