"""Joined votes: the sum by hand, and the better of two sources is found out."""

import numpy as np
import scipy.sparse as sp

from zipfel.index import build_index
from zipfel.index.choice import VoteRule
from zipfel.index.joined_votes import JoinedVotes

CODES = np.eye(3, dtype=np.float32)
Y = sp.csr_matrix(np.array([[1, 0, 0], [0, 1, 0], [0, 1, 1]], np.float32))


def joined(**settings):
    return JoinedVotes(build_index(CODES), Y, VoteRule(1, 0.0), **settings)


def score(start, stop):
    return np.tile(np.array([[0.1, 0.2, 0.9]], np.float32), (stop - start, 1))


def test_the_sum_by_hand():
    ranking = joined(share=0.25).rank(CODES[[0, 2]], score, 3)
    np.testing.assert_allclose(ranking.to_csr(3).toarray(), [[0.775, 0.05, 0.225], [0.025, 0.8, 0.975]], rtol=1e-6)


def test_the_ends_are_each_source_alone():
    assert joined(share=1.0).rank(CODES[:1], score, 1).labels.tolist() == [[2]]
    assert joined(share=0.0).rank(CODES[:1], score, 2).labels.tolist() == [[0, -1]]
    assert joined(share=0.5).rank(CODES[:0], score, 2).labels.shape == (0, 2)


def test_the_better_source_is_chosen():
    votes = joined()
    quality = votes.choose(CODES, score, Y, shares=(0.0, 1.0), n_neighbors=(1,), sharpness=(0.0,))
    assert votes.share == 0.0
    assert abs(quality - np.mean([1, 4 / 9, 4 / 15])) < 1e-6
    wrong = sp.csr_matrix(np.array([[0, 0, 1]] * 3, np.float32))
    votes.choose(CODES, score, wrong, shares=(0.0, 1.0), n_neighbors=(1,), sharpness=(0.0,))
    assert votes.share == 1.0
