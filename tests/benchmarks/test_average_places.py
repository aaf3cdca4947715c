"""Average ranks by hand."""

import pytest

from benchmarks.table import mean_places


def test_places_by_hand():
    tables = {"a P@1": {"x": 3.0, "y": 2.0, "z": 1.0}, "a P@3": {"x": 1.0, "y": 1.0, "z": 5.0}, "b P@1": {"x": 9.0}}
    assert mean_places(tables) == {"x": pytest.approx((1 + 2.5 + 1) / 3), "y": 2.25, "z": 2.0}
