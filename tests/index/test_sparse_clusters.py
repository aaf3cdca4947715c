"""Clusters of sparse rows by hand."""

import numpy as np
import scipy.sparse as sp

from zipfel.index.sparse_clusters import nearest_centre, sparse_clusters


def test_clusters_take_documents_apart_that_share_no_word():
    X = sp.csr_matrix(np.kron(np.eye(2), np.ones((5, 3))).astype(np.float32))
    mine = nearest_centre(X, sparse_clusters(X, 2, np.random.default_rng(1)))
    assert len(set(mine[:5])) == len(set(mine[5:])) == 1
    assert mine[0] != mine[5]
