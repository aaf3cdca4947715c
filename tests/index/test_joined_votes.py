"""Joined votes: the sum by hand, the better of two sources is found out, and a saved one answers the same."""

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.errors import ModelFileError
from zipfel.index.blend import Blend
from zipfel.index.choice import VoteRule
from zipfel.index.joined_votes import JoinedVotes
from zipfel.state import State

CODES = np.eye(3, dtype=np.float32)
Y = sp.csr_matrix(np.array([[1, 0, 0], [0, 1, 0], [0, 1, 1]], np.float32))
NEAREST = Blend({"points": VoteRule(1, 0.0)}, {"points": 1.0})


def joined(share=1.0, blend=NEAREST):
    votes = JoinedVotes.of({"points": CODES}, Y, seed=0)
    votes.blend, votes.share = blend, share
    return votes


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


def test_where_nobody_votes_no_index_is_needed_after_loading():
    votes = joined()
    votes.choose(CODES, score, sp.csr_matrix(np.array([[0, 0, 1]] * 3, np.float32)), shares=(0.0, 1.0))
    kept = JoinedVotes.of({}, Y, seed=0)
    kept.blend, kept.share = votes.blend, votes.share
    again = JoinedVotes.restored(kept.state(), Y.shape[1], 3)
    assert again.rank(CODES, score, 1).labels.ravel().tolist() == [2, 2, 2]


def test_by_less_than_chance_the_usual_share_stays():
    votes = joined()
    quality = votes.choose(CODES, score, Y, shares=(0.0, 0.25), n_neighbors=(1,), sharpness=(0.0,))
    assert votes.share == 0.25
    assert abs(quality - np.mean([1, 4 / 9, 4 / 15])) < 1e-6  # the same as without the scores


def test_without_any_source_only_the_scores_count():
    votes = JoinedVotes.of({}, Y, seed=0)
    votes.choose(CODES, score, Y, shares=(1.0,))
    assert votes.blend is None
    assert votes.rank(CODES, score, 1).labels.ravel().tolist() == [2, 2, 2]


def test_a_saved_one_answers_the_same_with_a_byte_a_number():
    codes = np.random.default_rng(0).normal(size=(40, 8)).astype(np.float32)
    labels = sp.csr_matrix(np.eye(40, dtype=np.float32))
    votes = JoinedVotes.of({"points": codes, "sets": codes[::-1]}, labels, seed=0)
    rules = {"points": VoteRule(5, 1.0), "sets": VoteRule(3, 2.0)}
    votes.blend, votes.share = Blend(rules, {"points": 0.25, "sets": 0.75}), 0.0
    state = votes.state()
    assert state.arrays["points.vectors"].dtype == np.int8
    again = JoinedVotes.restored(state, 40, 8)
    first, second = votes.rank(codes, score, 5), again.rank(codes, score, 5)
    np.testing.assert_array_equal(first.labels, second.labels)
    np.testing.assert_array_equal(first.scores, second.scores)


@pytest.mark.parametrize("damage", [{"share": 7}, {"blend": None}, {"indexes": {}}])
def test_damaged_facts_are_refused(damage):
    state = joined(share=0.5).state()
    with pytest.raises((KeyError, ValueError, ModelFileError)):
        JoinedVotes.restored(State(state.arrays, {**state.facts, **damage}), Y.shape[1], 3)
