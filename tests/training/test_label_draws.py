"""One label of each row is drawn, and U between the drawn labels is that of the whole training set."""

import numpy as np
import scipy.sparse as sp
import torch

from zipfel.training import Batches, CandidateSampler
from zipfel.training.label_draws import LabelDraws

Y = sp.csr_matrix(np.array([[1, 1, 0], [1, 0, 0], [1, 0, 0], [0, 0, 1]], np.float32))


def batch_of(affinity=None, seed=0):
    X, sampler = sp.identity(4, format="csr", dtype=np.float32), CandidateSampler(Y, n_sampled=0)
    return next(Batches(X, Y, size=4, seed=seed, candidates=sampler, extend=LabelDraws(Y, affinity)).epoch(0))


def test_each_row_draws_one_of_its_own_labels_and_repeats_are_counted():
    batch = batch_of()
    drawn = batch.candidates.labels[batch.extra["one"]].numpy()
    assert all(Y[row, label] == 1 for row, label in zip(batch.rows, drawn, strict=True))
    names, counts = np.unique(drawn, return_counts=True)
    assert batch.candidates.labels[batch.extra["distinct"]].tolist() == names.tolist()
    assert batch.extra["counts"].tolist() == counts.tolist()
    assert counts.sum() == 4


def test_every_label_of_a_row_is_drawn_some_time():
    first = []
    for seed in range(20):
        batch = batch_of(seed=seed)
        first.append(int(batch.candidates.labels[batch.extra["one"]][batch.rows.tolist().index(0)]))
    assert set(first) == {0, 1}


def test_u_is_equation_3_on_all_rows():
    """A_00 = 3, A_11 = 1, A_01 = 1: u_01 = (1/3 + 1/1) / 2 = 2/3."""
    for seed in range(20):
        batch = batch_of("arithmetic", seed)
        labels = batch.candidates.labels[batch.extra["distinct"]].tolist()
        if labels == [0, 1, 2]:
            expected = torch.tensor([[1, 2 / 3, 0], [2 / 3, 1, 0], [0, 0, 1]])
            torch.testing.assert_close(batch.extra["U"].to_dense(), expected)
            return
    raise AssertionError("label 1 was never drawn")
