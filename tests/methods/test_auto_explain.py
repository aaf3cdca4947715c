"""auto's explanations beyond what every method's have: parts that are switched off, labels that nobody brought up."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract import fit, fitted, known
from zipfel.methods.auto import Auto


@pytest.mark.parametrize("without", ["words", "regression", "classifiers", "frequency"])
def test_it_adds_up_whichever_part_is_missing(without: str) -> None:
    only = "words,regression,label_sets,classifiers,frequency"
    params = {"only": only, "keep_all": True, "without": without, "tail": 0.5, "damping": 0.8}
    method: Any = fit("auto", known().train, params=params)
    x = known().test.X[3]
    ranking = method.predict(x, 2)
    found = method.explain(x, ranking.labels[0].tolist())
    for label, score in zip(ranking.labels[0], ranking.scores[0], strict=True):
        assert sum(found.evidence[label].values()) == pytest.approx(float(score), abs=1e-4)
    gone = {
        "words": "neighbours by words",
        "regression": "regression",
        "classifiers": "words",
        "frequency": "frequency",
    }
    assert set(gone.values()) - set(found.evidence[label]) == {gone[without]}
    assert found.voters[label]


def test_a_point_that_is_near_by_words_and_by_codes_is_named_once() -> None:
    method, x = fitted("auto"), known().train.X[0]
    assert isinstance(method, Auto)
    label = int(known().train.Y[0].indices[0])
    rows = [voter.row for voter in method.explain(x, [label]).voters[label]]
    assert len(rows) == len(set(rows))
    assert 0 in rows[:5]  # the document itself is in train


def test_a_label_that_no_neighbour_has_is_told_by_words_only() -> None:
    method = fitted("auto")
    assert isinstance(method, Auto)
    found = method.explain(known().test.X[0], [6])  # never seen in train
    assert list(found.contributions) == [6]
    assert found.evidence == found.voters == {}
