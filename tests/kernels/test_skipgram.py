"""One skip-gram step against plain numpy, and two cliques that have to fall apart."""

import numpy as np

from zipfel.kernels.skipgram import skipgram_pass


def run(walks, nodes, contexts, window=1, negatives=1, rate=0.1, last=0.1, noise=(2,), seed=0):
    scratch = np.empty(nodes.shape[1], np.float32), np.empty(negatives, np.int32)
    noise = np.asarray(noise, dtype=np.int32)
    walks = np.asarray(walks, dtype=np.int32)
    skipgram_pass(walks, window, noise, negatives, np.float32(rate), np.float32(last), seed, nodes, contexts, *scratch)


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def by_hand(walks, nodes, contexts, window, rate, noise):
    """The same pass with word2vec's equations written out; the one noise node is known."""
    for walk in walks:
        for at, u in enumerate(walk):
            near = [c for j, c in enumerate(walk) if j != at and abs(j - at) <= window]
            gradient = np.zeros_like(nodes[u])
            for c, sign in [(c, 1) for c in near] + [(noise, -1)] * (noise != u):
                weight = 1 if sign > 0 else len(near)
                g = rate * weight * sign * sigmoid(-sign * (nodes[u] @ contexts[c]))
                gradient += g * contexts[c]
                contexts[c] += g * nodes[u]
            nodes[u] += gradient


def test_a_pass_equals_the_equations_written_out():
    rng = np.random.default_rng(0)
    walks = rng.integers(0, 5, (6, 7))
    nodes = rng.standard_normal((5, 4)).astype(np.float32)
    contexts = rng.standard_normal((5, 4)).astype(np.float32)
    mine, theirs = (nodes.copy(), contexts.copy()), (nodes.astype(np.float64), contexts.astype(np.float64))
    run(walks, *mine, window=2)
    by_hand(walks.tolist(), *theirs, window=2, rate=0.1, noise=2)
    np.testing.assert_allclose(mine[0], theirs[0], rtol=2e-4, atol=1e-5)
    np.testing.assert_allclose(mine[1], theirs[1], rtol=2e-4, atol=1e-5)


def test_the_same_seed_gives_the_same_vectors():
    rng = np.random.default_rng(1)
    walks, start = rng.integers(0, 30, (50, 10)), rng.standard_normal((30, 8)).astype(np.float32)
    found = []
    for seed in (5, 5, 6):
        nodes, contexts = start.copy(), np.zeros_like(start)
        run(walks, nodes, contexts, negatives=3, noise=np.arange(30), seed=seed)
        found.append(nodes)
    assert (found[0] == found[1]).all()
    assert (found[0] != found[2]).any()
