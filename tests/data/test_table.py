"""Rows of CSV and TSV."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zipfel.data.streams import Stream
from zipfel.data.table import numbered_lines, rows_or_faults, split_cells, table_rows
from zipfel.errors import DataError


def rows(text: str, separator: str = ",") -> list[list[str]]:
    return [cells for _, cells in table_rows(Stream(io.BytesIO(text.encode()), "t"), separator)]


@given(st.lists(st.lists(st.text(alphabet='ab", \n;', min_size=1), min_size=2, max_size=2), min_size=1))
def test_what_the_csv_module_writes_is_read_back(table: list[list[str]]) -> None:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(table)
    assert rows(file.getvalue()) == table


@pytest.mark.parametrize(
    ("line", "cells"),
    [
        ('a 5" disk,b', ['a 5" disk', "b"]),
        ('"one" and "two",b', ['"one" and "two"', "b"]),
        ('"a ""b""",c', ['a "b"', "c"]),
        ('"a,b",', ["a,b", ""]),
    ],
)
def test_a_quote_inside_of_a_cell_is_only_a_quote(line: str, cells: list[str]) -> None:
    assert split_cells(line, ",") == (cells, None)
    assert rows(f"{line}\nx,y\n") == [cells, ["x", "y"]]


def test_a_quote_that_nothing_closes_is_only_a_quote_in_a_tsv() -> None:
    assert rows('"one\ta\ntwo\tb\n', "\t") == [['"one', "a"], ["two", "b"]]
    with pytest.raises(DataError, match="t:1: the table is broken: a quoted cell"):
        rows('"one,a\ntwo,b\n')


def test_rows_behind_a_fault_are_read() -> None:
    stream = Stream(io.BytesIO(b'a,b\n"c,d\n\xff,e\nf,g\n'), "t")
    found = list(filter(None, rows_or_faults(numbered_lines(stream), stream, ",")))
    assert [row[1] for row in found if not isinstance(row, DataError)] == [["a", "b"], ["f", "g"]]
    assert [row.line for row in found if isinstance(row, DataError)] == [3, 3]


def test_no_cell_is_too_long_and_the_limit_of_csv_is_left_alone() -> None:
    before = csv.field_size_limit()
    assert len(rows('"' + "x" * 300_000 + '",b\n')[0][0]) == 300_000
    assert csv.field_size_limit() == before


def test_numbers_are_those_of_the_first_line() -> None:
    found = table_rows(Stream(io.BytesIO(b'"a\nb",c\n\nd,e\n'), "t"), ",")
    assert [number for number, _ in found] == [1, 4]
