"""The vote rule that is chosen is the one that ranks best, and precision is worked out by hand."""

import numpy as np
import scipy.sparse as sp

from zipfel.index.choice import VoteRule, choose_votes, mean_precision
from zipfel.ranking import Ranking


def test_mean_precision_by_hand():
    labels = np.array([[0, 1, 2, 3, -1], [2, -1, -1, -1, -1]])
    ranking = Ranking(labels, np.where(labels >= 0, 1.0, -np.inf).astype(np.float32))
    truth = sp.csr_matrix(np.array([[1, 0, 1, 1], [0, 0, 0, 1]], np.float32))
    # P@1 = (1 + 0)/2, P@3 = (2/3 + 0)/2, P@5 = (3/5 + 0)/2
    assert mean_precision(ranking, truth) == np.mean([0.5, 1 / 3, 0.3])


def test_the_better_rule_is_chosen():
    # the nearest neighbour is right, the two behind it agree on a wrong label
    Y = sp.csr_matrix(np.array([[1, 0], [0, 1], [0, 1]], np.float32))
    ids, similar = np.array([[0, 1, 2]]), np.array([[1.0, 0.5, 0.5]], np.float32)
    right, wrong = sp.csr_matrix(np.array([[1.0, 0]])), sp.csr_matrix(np.array([[0, 1.0]]))
    options = {"n_neighbors": (3,), "sharpness": (0.0, 20.0)}
    assert choose_votes(ids, similar, Y, right, **options)[0] == VoteRule(3, 20.0)
    rule, quality = choose_votes(ids, similar, Y, wrong, **options)
    assert rule == VoteRule(3, 0.0)
    assert abs(quality - np.mean([1, 1 / 3, 1 / 5])) < 1e-6
