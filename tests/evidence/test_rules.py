"""Which parts are tried, and settings by the data's shape."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest

from zipfel.errors import ModelFileError, ParameterError
from zipfel.evidence import rules
from zipfel.evidence.rules import RULES, plan, plan_from_facts
from zipfel.evidence.shape import Shape

BIBTEX = Shape(4880, 1836, 159, 1995, 68.5, 2.4, dense=False, n_held_out=586)
MILLION = Shape(1_000_000, 300_000, 670_000, 970_000, 75.0, 5.0, dense=False, n_held_out=3000)
ALL = {rule.part: True for rule in RULES}


def _tried(shape: Shape, effort: str = "default", **how: object) -> set[str]:
    return {tried.part for tried in plan(shape, effort, ALL, **how) if tried.tried}  # type: ignore[arg-type]


def test_quick_has_what_is_always_tried() -> None:
    assert _tried(BIBTEX, "quick") == {"words", "classifiers", "frequency"}


def test_the_default_takes_no_longer_than_the_tree_tools() -> None:
    for shape in (BIBTEX, replace(BIBTEX, n_points=50_000), MILLION):
        needed = {"label_sets", "regression"} & _tried(shape)
        total = sum(tried.cost for tried in plan(shape, "default", ALL) if tried.tried)
        assert needed
        assert total <= max(rules.allowed(shape, "default"), 1.0)


def test_thorough_tries_all_that_the_default_does_and_more() -> None:
    assert _tried(BIBTEX) < _tried(BIBTEX, "thorough")
    assert "mnn" in _tried(BIBTEX, "thorough")
    assert "mnn" not in _tried(replace(BIBTEX, n_points=300), "default")


def test_without_the_extra_thorough_says_what_is_missing() -> None:
    found = {tried.part: tried.why for tried in plan(BIBTEX, "thorough", {**ALL, "mnn": False})}
    assert found["mnn"] == "needs zipfel[papers]"


def test_many_labels_have_label_sets_instead_of_a_regression() -> None:
    assert "regression" not in _tried(MILLION)
    assert "tree" not in _tried(MILLION)
    assert "label_sets" in _tried(MILLION)


def test_dense_features_have_no_tree() -> None:
    assert "tree" in _tried(BIBTEX)
    assert "tree" not in _tried(replace(BIBTEX, dense=True))


def test_a_part_goes_with_the_one_that_it_needs() -> None:
    found = {tried.part: tried.why for tried in plan(BIBTEX, "default", ALL, without=("regression",))}
    assert found["regression"] == "left out by the parameters"
    assert found["tree"] == "needs regression"


def test_named_parts_are_tried_whatever_they_cost() -> None:
    assert _tried(BIBTEX, only=("words", "network")) == {"words", "network"}


def test_a_time_budget_leaves_parts_out() -> None:
    assert _tried(BIBTEX, time_left=0.0) == {"words", "classifiers", "frequency"}


@pytest.mark.parametrize("how", ["only", "without"])
def test_an_unknown_part_is_refused(how: str) -> None:
    with pytest.raises(ParameterError, match=r"no part 'forrest'.*forest"):
        _tried(BIBTEX, **{how: ("forrest",)})


def test_some_part_has_to_bring_up_candidates() -> None:
    with pytest.raises(ParameterError, match="candidates"):
        _tried(BIBTEX, "quick", without=("words",))


def test_a_plan_is_read_back() -> None:
    found = plan(BIBTEX, "default", ALL)
    assert plan_from_facts([asdict(tried) for tried in found]) == found
    for damaged in (None, [{}], [asdict(found[1]), asdict(found[0])], [asdict(found[0]) | {"part": "x"}]):
        with pytest.raises(ModelFileError):
            plan_from_facts(damaged)


def test_a_shape_is_read_back() -> None:
    assert Shape.from_facts(asdict(BIBTEX)) == BIBTEX
    for damaged in (None, {}, asdict(BIBTEX) | {"n_points": "many"}, asdict(BIBTEX) | {"words": float("nan")}):
        with pytest.raises(ModelFileError):
            Shape.from_facts(damaged)


@pytest.mark.parametrize(
    ("words", "dense", "power"), [(20, False, 0.6), (65, False, 0.8), (85, False, 1.0), (20, True, 1.0)]
)
def test_short_texts_are_damped(words: float, dense: bool, power: float) -> None:
    assert rules.damping(replace(BIBTEX, words=words, dense=dense)) == power


@pytest.mark.parametrize(("n_labels", "each", "wanted"), [(1000, 1.0, 50), (90, 1.0, 30), (1000, 19.0, 95)])
def test_shortlists(n_labels: int, each: float, wanted: int) -> None:
    assert rules.shortlist(replace(BIBTEX, n_labels=n_labels, labels=each), "default") == wanted


@pytest.mark.parametrize(
    ("n", "share", "wanted"),
    [(100, None, 25), (1600, None, 400), (10_000, None, 1200), (10**6, None, 3000), (100, 0.1, 10), (2, None, 1)],
)
def test_of_few_points_a_larger_share_is_held_out(n: int, share: float | None, wanted: int) -> None:
    assert rules.held_out(n, share) == wanted


def test_random_negatives_are_more_where_labels_are_many() -> None:
    few, many = (rules.random_negatives(replace(BIBTEX, n_labels=n)) for n in (159, 20_000))
    assert (few, many) == (10, 50)


@pytest.mark.parametrize(("n_held_out", "parts"), [(30, 3), (999, 3), (1000, 2)])
def test_few_held_out_points_are_cut_into_more_parts(n_held_out: int, parts: int) -> None:
    assert rules.judge_folds(n_held_out) == parts


@pytest.mark.parametrize(
    ("n_points", "n_pairs", "wanted"),
    [
        (1000, 3000, 500),
        (4880, 11_000, 610),
        (12_000, 30_000, 1000),
        (12_900, 245_000, 1000),
        (65_000, 80_000, 720),
        (65_000, 400_000, 1000),
    ],
)
def test_landmarks_are_as_many_as_points_labels_and_products_allow(n_points: int, n_pairs: int, wanted: int) -> None:
    shape = replace(BIBTEX, n_points=n_points, labels=n_pairs / n_points)
    assert rules.landmarks(shape) == wanted


def test_few_points_are_seen_more_often_and_many_less() -> None:
    shapes = [replace(BIBTEX, n_points=n) for n in (0, 100, 3_000, 20_000, 100_000, 10**6)]
    assert [rules.label_set_epochs(shape) for shape in shapes] == [40, 40, 17, 10, 3, 2]
    assert [rules.network_epochs(shape) for shape in shapes] == [8, 8, 8, 7, 2, 2]
