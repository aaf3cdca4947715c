"""Votes of the nearest points, against counting by hand."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.errors import ModelFileError
from zipfel.index.base import unit_rows
from zipfel.neighbors.voters import Voters, votes_of

CODES = np.array([[1, 0], [1, 0.1], [0, 1], [1, 1]], dtype=np.float32)
Y = sp.csr_matrix(np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=np.float32))


def test_votes_are_shares_by_cosine_and_who_has_no_label_has_no_vote() -> None:
    voters = Voters(CODES, Y, neighbors=2, precision="float32")
    labels, votes = voters.vote(np.array([[1, 0]], dtype=np.float32), 3)
    cosines = unit_rows(CODES[:2]) @ np.array([1, 0], dtype=np.float32)
    for kind, sharpness in enumerate((20.0, 5.0)):
        weights = np.exp(sharpness * (cosines - cosines.max()))
        second = weights[1] / weights.sum()
        np.testing.assert_allclose(votes[0, :, kind], [1, second, 0], rtol=1e-5)
    assert labels.tolist() == [[0, 1, -1]]


def test_state_answers_the_same_and_damage_is_told() -> None:
    voters = Voters(CODES, Y, neighbors=3)
    state = voters.state()
    again = Voters.restored(state, 3, 2, neighbors=3, precision="int8")
    for mine, other in zip(voters.vote(CODES, 3), again.vote(CODES, 3), strict=True):
        np.testing.assert_array_equal(mine, other)
    for name, broken in (("labels", state["labels"] + 2), ("edges", state["edges"][::-1]), ("codes", CODES)):
        with pytest.raises(ModelFileError):
            Voters.restored({**state, name: broken.astype(state[name].dtype)[:3]}, 3, 2, neighbors=3, precision="int8")


def test_votes_are_looked_up_by_label() -> None:
    labels, votes = np.array([[4, 2, -1], [-1, -1, -1]]), np.arange(12, dtype=np.float32).reshape(2, 3, 2)
    found = votes_of(np.array([[2, 3, -1], [4, 2, 0]]), labels, votes, 5)
    assert found[0].tolist() == [[2, 3], [0, 0], [0, 0]]
    assert not found[1].any()
