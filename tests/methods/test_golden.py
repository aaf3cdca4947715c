"""Small fits are as good as when their figures were frozen in tests/golden/golden.json; freeze.py writes it."""

from __future__ import annotations

import json

import pytest

from tests.golden.freeze import FILE, cases, scores

WORSE = 0.03
"""400 documents have a standard error of two points of P@1; half of it between methods that agree mostly."""


@pytest.mark.parametrize(("method", "preset"), cases())
def test_as_good_as_before(method: str, preset: str | None) -> None:
    golden = json.loads(FILE.read_text())[f"{method} {preset or ''}".strip()]
    found = scores(method, preset)
    assert {name: value for name, value in found.items() if value < golden[name] - WORSE} == {}
