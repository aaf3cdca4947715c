"""Retired labels are gone, merged ones count as others; as many labels as were asked for are left."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.errors import ModelFileError
from zipfel.estimator.label_changes import LabelChanges
from zipfel.ranking import Ranking

LABELS = np.array([[3, 1, 0, 2], [0, 2, -1, -1]])
SCORES = np.array([[0.9, 0.5, 0.4, 0.1], [0.8, 0.7, -np.inf, -np.inf]], dtype=np.float32)


def rank(k: int) -> Ranking:
    return Ranking(LABELS[:, :k], SCORES[:, :k])


def test_no_change_changes_nothing() -> None:
    assert LabelChanges().ranked(rank, 9, 4).labels.tolist() == LABELS.tolist()


def test_retired_labels_make_room_for_others() -> None:
    found = LabelChanges().retire({3}).ranked(rank, 2, 4)
    assert found.labels.tolist() == [[1, 0], [0, 2]]
    assert found.scores.tolist() == pytest.approx(np.array([[0.5, 0.4], [0.8, 0.7]]), abs=1e-6)


def test_a_merged_label_has_the_better_place_and_score() -> None:
    found = LabelChanges().merge({3: 2}).ranked(rank, 3, 4)
    assert found.labels.tolist() == [[2, 1, 0], [0, 2, -1]]
    assert found.scores[0].tolist() == pytest.approx([0.9, 0.5, 0.4])


def test_merging_goes_on_from_merging() -> None:
    changes = LabelChanges().merge({3: 2}).merge({2: 0}).retire({1})
    assert changes.targets(5).tolist() == [0, -1, 0, 0, 4]
    assert LabelChanges().merge({3: 2}).retire({2}).targets(4).tolist() == [0, 1, -1, -1]


def test_labels_of_documents_change_alike() -> None:
    Y = sp.csr_matrix(np.array([[1, 0, 1, 1], [0, 1, 0, 0]], dtype=np.float32))
    changed = LabelChanges().merge({3: 2}).retire({1}).of_labels(Y)
    assert changed.toarray().tolist() == [[1, 0, 1, 0], [0, 0, 0, 0]]


def test_facts_are_read_back() -> None:
    changes = LabelChanges().merge({3: 2, 0: 2}).retire({1})
    assert LabelChanges.from_facts(changes.facts(), 4) == changes
    assert not LabelChanges.from_facts(None, 4)


@pytest.mark.parametrize(
    "facts",
    [
        1, {}, {"retired": [4], "merged": []}, {"retired": [-1], "merged": []}, {"retired": [True], "merged": []},
        {"retired": [], "merged": [[0, 0]]}, {"retired": [], "merged": [[0]]}, {"retired": [], "merged": {"0": 1}},
    ],
)  # fmt: skip
def test_facts_that_make_no_sense_are_refused(facts: object) -> None:
    with pytest.raises(ModelFileError, match="label_changes"):
        LabelChanges.from_facts(facts, 4)
