"""Every part keeps the contract; and what is special about some."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from tests.contract import N_LABELS, known
from tests.evidence.part_contract import PartContract, asked, candidates, final, final_fold, first_fold, fitted
from zipfel.evidence.part import Asked, Part
from zipfel.evidence.parts import PARTS, classifiers
from zipfel.evidence.parts.classifiers import ClassifiersPart, strongest
from zipfel.evidence.parts.label_sets import LabelSetsPart
from zipfel.evidence.parts.network import NetworkPart
from zipfel.evidence.parts.ranked import RankedPart, ranked_part
from zipfel.evidence.rules import RULES
from zipfel.methods import make_method


@pytest.fixture(params=list(PARTS))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class TestEveryPart(PartContract):
    pass


def test_every_part_has_a_rule_and_a_title() -> None:
    assert set(PARTS) <= {rule.part for rule in RULES}
    assert all(part.title for part in PARTS.values())


def test_column_names_are_unlike() -> None:
    names = [name for part in PARTS for name in (*final(part).columns, *final(part).votes)]
    assert len(set(names)) == len(names)


def test_the_words_of_a_classifier_add_up_to_its_opinion() -> None:
    part, x = final("classifiers"), known().test.X[0]
    question = asked(x)
    doubt, trust = part.opinions(question, candidates(1))
    for label in range(N_LABELS):
        told = part.explain(question, label)
        assert told is not None
        margin = float(doubt[0, label] + trust[0, label])
        assert told.added.sum() + told.start == pytest.approx(margin, abs=1e-5)
        assert told.column == ("doubt" if margin < 0 else "trust")


def test_label_sets_are_learnt_once() -> None:
    before = fitted("label_sets", first_fold())
    after = fitted("label_sets", final_fold(), before)["label_sets"]
    assert isinstance(after, LabelSetsPart)
    assert isinstance(before["label_sets"], LabelSetsPart)
    assert after.space.encoder is before["label_sets"].space.encoder


def test_the_network_continues_with_all_points() -> None:
    before, alone = fitted("network", first_fold()), fitted("network", final_fold())["network"]
    first = before["network"]
    assert isinstance(first, NetworkPart)
    after = fitted("network", final_fold(), before)["network"]
    assert isinstance(after, NetworkPart)
    assert isinstance(alone, NetworkPart)
    moved = np.abs(after.model.labels - first.model.labels).mean()
    assert 0 < moved < np.abs(alone.model.labels - first.model.labels).mean()
    assert after.training is None


def test_nothing_for_a_later_fit_is_kept_in_the_end() -> None:
    for name in PARTS:
        assert getattr(final(name), "learnt", None) is None


def test_classifiers_go_on_from_what_they_learnt() -> None:
    before = fitted("classifiers", first_fold())["classifiers"]
    assert isinstance(before, ClassifiersPart)
    assert before.learnt is not None
    assert np.flatnonzero(before.learnt.is_listed).tolist() == first_fold().rows.tolist()
    (problems,) = before.learnt.problems
    assert set(problems.docs.tolist()) <= set(first_fold().rows.tolist())
    assert problems.dual.all()


def test_classifiers_of_runs_of_labels_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    together = fitted("classifiers", final_fold(), fitted("classifiers", first_fold()))["classifiers"]
    monkeypatch.setattr(classifiers, "label_runs", lambda *_: [(0, 3), (3, 4), (4, N_LABELS)])
    before = fitted("classifiers", first_fold())["classifiers"]
    assert isinstance(before, ClassifiersPart)
    assert before.learnt is not None
    assert len(before.learnt.problems) == 3
    apart = fitted("classifiers", final_fold(), {"classifiers": before})["classifiers"]
    for name, array in together.state().arrays.items():
        np.testing.assert_array_equal(array, apart.state().arrays[name], err_msg=name)


def test_a_final_fit_needs_neighbours_of_held_out_points_only() -> None:
    first = first_fold()
    held = np.flatnonzero(~first.seen)
    fold = replace(first, seen=np.ones_like(first.seen), is_final=True)
    few = fold.with_near_of(held)
    assert len(few.near.ids) == len(held)
    for all_rows, some in zip(fold.near_among_seen(held[2:5]), few.near_among_seen(held[2:5]), strict=True):
        np.testing.assert_array_equal(all_rows, some)


def test_strongest_columns_of_each_row() -> None:
    matrix = sp.csr_matrix(np.array([[0, 3, 1, 2], [0, 0, 0, 0], [5, 0, 0, 5]], dtype=np.float32))
    assert strongest(matrix, 2).tolist() == [[1, 3], [-1, -1], [0, 3]]


def _ranked() -> type[RankedPart]:
    return ranked_part("knn", "the method knn", lambda params: make_method("knn", params or {"n_neighbors": 5}))


def test_a_method_can_be_a_part() -> None:
    kind = _ranked()
    part = kind.fit(None, final_fold(), None)
    question = asked(known().test.X[:4])
    ranking = part.system.predict(question.X, N_LABELS)
    score, rank = part.opinions(question, candidates(4))
    proposed = part.proposals(question).labels
    for i in range(4):
        best = [int(label) for label in ranking.labels[i] if label >= 0]
        assert proposed[i, : len(best)].tolist() == best
        np.testing.assert_allclose(score[i, best], ranking.scores[i, : len(best)], rtol=1e-6)
        np.testing.assert_allclose(rank[i, best], -np.log1p(np.arange(len(best))), rtol=1e-6)
        assert score[i, :N_LABELS].min() == pytest.approx(ranking.scores[i, len(best) - 1])
    again = kind.restored(None, part.state(), first_fold().training)
    np.testing.assert_array_equal(again.opinions(asked(question.X), candidates(4))[0], score)


def test_labels_that_came_later_are_unknown_to_a_method() -> None:
    part: Part = _ranked().fit(None, final_fold(), None)
    question = Asked(known().test.X[:2], first_fold().training, 20)
    labels = np.array([[0, N_LABELS], [N_LABELS, 1]])
    for column in part.opinions(question, labels):
        assert np.isnan(column).tolist() == [[False, True], [True, False]]
