"""The labels that are scored: by votes, then those that parts propose, then frequent ones."""

from __future__ import annotations

import numpy as np

from zipfel.evidence.candidates import _append_new, joined_voters
from zipfel.evidence.ensemble import columns_by_part, or_usual
from zipfel.evidence.part import Voters
from zipfel.evidence.parts.frequency import FrequencyPart
from zipfel.evidence.parts.words import WordsPart


def test_voters_of_several_parts_keep_their_kinds() -> None:
    one = Voters(np.array([[0, 1]]), np.array([[[1.0, 2.0], [3.0, 4.0]]], dtype=np.float32))
    two = Voters(np.array([[5]]), np.array([[[7.0]]], dtype=np.float32))
    found = joined_voters([one, two])
    assert found.ids.tolist() == [[0, 1, 5]]
    assert found.weights.tolist() == [[[1, 2, 0], [3, 4, 0], [0, 0, 7]]]
    assert joined_voters([one]) is one


def test_proposals_come_behind_without_those_that_are_there() -> None:
    labels = np.array([[3, 1, -1, -1], [-1, -1, -1, -1]])
    _append_new(labels, np.array([[1, 2, 2], [5, -1, 3]]))
    assert labels.tolist() == [[3, 1, 2, -1], [5, 3, -1, -1]]


def test_a_part_that_does_not_know_a_label_says_what_is_usual() -> None:
    labels = np.array([[0, 1, 2, -1], [3, 4, -1, -1]])
    opinion = np.array([[1.0, np.nan, 3.0, 9.0], [np.nan, np.nan, 0.0, 0.0]], dtype=np.float32)
    assert or_usual(opinion, labels).tolist() == [[1, 2, 3, 9], [0, 0, 0, 0]]
    known = np.zeros((1, 2), dtype=np.float32)
    assert or_usual(known, labels[:1, :2]) is known


def test_columns_stand_in_the_order_of_parts() -> None:
    parts = [WordsPart(), FrequencyPart(np.zeros(3, dtype=np.float32))]
    assert columns_by_part(parts) == {"words": [0, 1, 2, 3, 4, 5], "frequency": [6]}
