"""How far a fit has come, and phases in words."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from zipfel.methods import method_names
from zipfel.system.phases import WORDS, Course, plan_of

PLAN = ((1.0, frozenset({"a"})), (2.0, frozenset({"b", "c"})), (1.0, frozenset({"a", "d"})))


def test_stages_count_as_done_when_a_later_one_begins() -> None:
    course = Course(PLAN, 0.0)
    course.enter("a", 0.0)
    course.enter("b", 10.0)
    assert course.fraction(10.0) == pytest.approx(0.25)
    course.enter("d", 30.0)
    assert course.fraction(30.0) == pytest.approx(0.75)
    assert course.seconds_left(30.0) == pytest.approx(10.0)


def test_a_phase_that_comes_again_is_a_later_stage() -> None:
    course = Course(PLAN, 0.0)
    for now, phase in enumerate(("a", "c", "a")):
        course.enter(phase, float(now))
    assert course.fraction(2.0) == pytest.approx(0.75)


def test_within_a_stage_it_goes_on_by_what_is_counted_or_by_the_clock() -> None:
    course = Course(PLAN, 0.0)
    course.enter("b", 10.0)
    by_clock = [course.fraction(10.0 + seconds) for seconds in (0, 5, 20, 500)]
    assert by_clock == sorted(by_clock)
    assert 0.25 <= by_clock[0] < by_clock[1] < by_clock[3] < 0.75
    course = Course(PLAN, 0.0)
    course.enter("b", 10.0)
    course.within(0.9)
    assert course.fraction(10.0) > 0.6


def test_it_never_falls_and_unknown_phases_change_nothing() -> None:
    course = Course(PLAN, 0.0)
    course.enter("b", 4.0)
    before = course.fraction(5.0)
    course.enter("something else", 6.0)
    course.enter("a", 6.0)
    course.enter("b", 6.0)
    assert course.fraction(6.0) >= before


def test_every_phase_of_the_code_has_words() -> None:
    package = Path(__file__).parents[2] / "zipfel"
    named = set()
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "timed" and node.args:
                named |= {n.value for n in ast.walk(node.args[0]) if isinstance(n, ast.Constant) and n.value}
    assert {"features", "neighbours", "rehearsal"} <= named | {"rehearsal"}
    assert named <= WORDS.keys(), "give each phase words in zipfel/system/phases.py"


@pytest.mark.parametrize("method", method_names())
def test_every_method_has_a_plan_from_reading_to_saving(method: str) -> None:
    plan = plan_of(method)
    assert "reading" in plan[0][1]
    assert "saving" in plan[-1][1]
    assert set().union(*(names for _, names in plan)) <= WORDS.keys()
