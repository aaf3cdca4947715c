"""CSV and TSV with a header line: a text column and a column whose cells hold the labels.

The separator of the columns is a tab, comma or semicolon, whichever splits the header most. Labels in a cell are split
at `label_separator`; where it is not given, the first of | ; , tab that occurs in the first rows is it, then a
space where all labels are numbers; cells that are JSON lists work as well. An empty cell is a row without labels.
"""

from __future__ import annotations

import csv
import itertools
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from zipfel.data.dataset import Dataset
from zipfel.data.documents import ID_FIELDS, LABEL_FIELDS, TEXT_FIELDS, Documents, Fields, pick
from zipfel.data.streams import MAX_LINE_BYTES, Stream
from zipfel.errors import DataError

JSON_LISTS = "[]"
_SAMPLE_ROWS = 1000


@dataclass(frozen=True)
class Columns:
    """Places of the columns; None where there is none."""

    text: int
    labels: int | None
    id: int | None


def read_delimited(stream: Stream, fields: Fields) -> Dataset:
    head = stream.head().decode("utf-8", "replace").partition("\n")[0]
    table = _table(stream, column_separator(head))
    _, header = next(table, (1, []))
    columns = find_columns([name.strip() for name in header], fields, stream.name)
    sample = list(itertools.islice(table, _SAMPLE_ROWS))
    separator = fields.label_separator
    if separator is None and columns.labels is not None:
        separator = label_separator(row[columns.labels] for _, row in sample if len(row) > columns.labels)
    documents = Documents()
    for number, row in itertools.chain(sample, table):
        if len(row) != len(header):
            raise DataError(
                f"the row has {len(row)} cells but the header has {len(header)}",
                path=stream.name,
                line=number,
                remedy='put "quotes" around cells that hold the separator',
            )
        labels = "" if columns.labels is None else row[columns.labels]
        try:
            names = split_labels(labels, separator)
        except ValueError as error:
            raise DataError(str(error), path=stream.name, line=number) from None
        documents.add(row[columns.text], names, None if columns.id is None else row[columns.id], number)
    return documents.dataset(stream.name)


def column_separator(header: str) -> str:
    """Of tab, comma and semicolon the one that splits the header most."""
    return max("\t,;", key=header.count)


def find_columns(header: list[str], fields: Fields, name: str) -> Columns:
    """Where the text, the labels and the id are; a column that was asked for must be there."""
    text = pick(fields.text, TEXT_FIELDS, header)
    labels = pick(fields.labels, LABEL_FIELDS, header)
    found = pick(fields.id, ID_FIELDS, header)
    for what, column, wanted, option in (
        ("labels", labels, fields.labels, "label_column"),
        ("text", text, fields.text, "text_column"),
        ("id", found, fields.id, "id_column"),
    ):
        optional = what == "id" or (what == "labels" and not fields.need_labels)
        if column is None and (wanted is not None or not optional):
            there = ", ".join(repr(cell[:40]) for cell in header[:12]) or "none"
            raise DataError(
                f"there is no {what} column{f' {wanted!r}' if wanted else ''}; the columns are {there}",
                path=name,
                line=1,
                remedy=f"name it with {option}" + ("" if what == "id" else f", or --{option.replace('_', '-')}"),
            )
    if text is None:
        raise DataError("there is no text column", path=name, line=1)
    places = {cell: i for i, cell in reversed(list(enumerate(header)))}
    return Columns(places[text], None if labels is None else places[labels], None if found is None else places[found])


def label_separator(cells: Iterable[str]) -> str | None:
    """What separates labels in these cells; None where each cell is one label."""
    cells = [cell.strip() for cell in cells if cell.strip()]
    if cells and all(cell.startswith("[") and cell.endswith("]") for cell in cells):
        return JSON_LISTS
    for separator in "|;,\t":
        if any(separator in cell for cell in cells):
            return separator
    return " " if cells and all(word.isdigit() for cell in cells for word in cell.split()) else None


def split_labels(cell: str, separator: str | None) -> list[str]:
    """The labels of one cell; blanks around them and empty ones go."""
    if separator == JSON_LISTS:
        return _json_list(cell) if cell.strip() else []
    parts = [cell] if separator is None else cell.split(separator)
    return [label for part in parts if (label := part.strip())]


def _json_list(cell: str) -> list[str]:
    try:
        labels = json.loads(cell)
    except (ValueError, RecursionError):
        labels = None
    if not isinstance(labels, list) or not all(isinstance(label, str | int) for label in labels):
        raise ValueError(f"the labels must be a JSON list of names, got {cell[:40]!r}")
    return [str(label) for label in labels]


def _table(stream: Stream, separator: str) -> Iterator[tuple[int, list[str]]]:
    """(number of its last line, cells) of each row that is not blank."""
    before = csv.field_size_limit(MAX_LINE_BYTES)
    try:
        reader = csv.reader((line + "\n" for _, line in stream.lines()), delimiter=separator, strict=True)
        for row in reader:
            if row:
                yield reader.line_num, row
    except csv.Error as error:
        raise DataError(f"the table is broken: {error}", path=stream.name, line=reader.line_num) from None
    finally:
        csv.field_size_limit(before)
