"""Lists of labels as JSON, Python and NumPy write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zipfel.data.label_lists import parse_list


@given(st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"]))))
def test_what_python_writes_is_read_back(labels: list[str]) -> None:
    assert parse_list(repr(labels)) == labels


@pytest.mark.parametrize("cell", ["['a', b]", "['a'", "a", "['a']]", "[['a']]", '[{"a": 1}]', "[" * 100_000])
def test_what_is_no_list_is_refused(cell: str) -> None:
    with pytest.raises(ValueError, match="the labels must be a JSON list"):
        parse_list(cell)


def test_a_long_cell_takes_linear_time() -> None:
    assert len(parse_list("[" + "'a' " * 100_000 + "]")) == 100_000
    with pytest.raises(ValueError, match="JSON list"):
        parse_list("[" + " " * 300_000 + "x]")
