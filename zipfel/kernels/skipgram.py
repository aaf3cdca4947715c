"""Skip-gram with negative sampling over walks: one pass of plain SGD in one thread, the same for the same seed."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from zipfel.kernels.walks import mix

Floats = npt.NDArray[np.float32]


@njit(cache=True, nogil=True, fastmath=True)
def skipgram_pass(  # type: ignore[no-untyped-def]
    walks, window, noise, negatives, rate, last_rate, seed, nodes, contexts, gradient, drawn
):
    """One pass over `walks` (n, length), in place on nodes and contexts (both (n_nodes, dim)).

    For a node u and the nodes c within `window` steps it raises sum_c log s(u.c) + |C| sum_{v ~ noise} log s(-u.v). The
    noise draws (a table of node ids) are shared by u's whole window. This is word2vec's objective at a third of its dot
    products. The rate falls linearly to last_rate. gradient (dim,) and drawn (negatives,) are scratch.
    """
    golden = np.uint64(0x9E3779B97F4A7C15)
    state = mix(np.uint64(seed) + golden)
    length, dim = walks.shape[1], nodes.shape[1]
    for i in range(walks.shape[0]):
        step = rate + (last_rate - rate) * np.float32(i / walks.shape[0])
        for at in range(length):
            u = walks[i, at]
            low, high = max(0, at - window), min(length, at + window + 1)
            n_contexts = high - low - 1
            for n in range(negatives):
                state += golden
                drawn[n] = noise[mix(state) % np.uint64(len(noise))]
            gradient[:] = 0.0
            for j in range(low, high + negatives):
                if j == at:
                    continue
                positive = j < high
                c = walks[i, j] if positive else drawn[j - high]
                if not positive and c == u:
                    continue
                dot = np.float32(0.0)
                for d in range(dim):
                    dot += nodes[u, d] * contexts[c, d]
                away = np.float32(1.0) / (np.float32(1.0) + np.exp(dot if positive else -dot))
                g = step * away if positive else -step * away * n_contexts
                for d in range(dim):
                    gradient[d] += g * contexts[c, d]
                    contexts[c, d] += g * nodes[u, d]
            for d in range(dim):
                nodes[u, d] += gradient[d]
