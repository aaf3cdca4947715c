"""CSV and TSV with a header line: text columns and a column whose cells hold the labels.

The separator of the columns is a tab, comma or semicolon, whichever splits the header most. Labels in a cell are split
at `label_separator`. If it is not given, it is the first of | ; , tab that occurs in the first rows, or a space if all
labels are numbers. Cells may also be lists as JSON, pandas or NumPy write them, or <URI> <URI>. An empty cell is a row
without labels. A table "text TAB <URI> <URI>" needs no header, as in Annif's corpora.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from zipfel.data.dataset import Dataset
from zipfel.data.documents import ID_FIELDS, LABEL_FIELDS, TITLE_FIELD, Documents, Fields, joined_text, pick, pick_texts
from zipfel.data.formats import URI_CELL, is_annif
from zipfel.data.label_lists import parse_list
from zipfel.data.streams import Stream
from zipfel.data.table import Row, split_cells, table_rows
from zipfel.errors import DataError

LISTS, URIS, ONE = "[]", "<>", "none"
"""Ways to separate labels that are no separators: lists, URIs in angle brackets, and one label a cell."""

_SAMPLE_ROWS = 1000
_URI = re.compile(r"<([^<>\s]+)>")


@dataclass(frozen=True)
class Columns:
    """Places of the columns; None where there is none."""

    text: tuple[int, ...]
    labels: int | None
    id: int | None

    def text_of(self, cells: Sequence[str]) -> str:
        return cells[self.text[0]] if len(self.text) == 1 else joined_text(cells[place] for place in self.text)


def read_delimited(stream: Stream, fields: Fields) -> Dataset:
    first = first_line(stream)
    table = table_rows(stream, column_separator(first))
    header = ["text", "labels"]
    if not is_annif(first):
        header = [name.strip() for name in next(table, (1, [""]))[1]]
    columns = find_columns(header, fields, stream.name)
    sample = list(itertools.islice(table, _SAMPLE_ROWS))
    separator = None if fields.label_separator == ONE else fields.label_separator
    if fields.label_separator is None and columns.labels is not None:
        separator = label_separator(row[columns.labels] for _, row in sample if len(row) > columns.labels)
    documents = Documents()
    for row in itertools.chain(sample, table):
        cells = cells_of(row, header, stream.name)
        labels = "" if columns.labels is None else cells[columns.labels]
        try:
            names = split_labels(labels, separator)
        except ValueError as error:
            raise DataError(str(error), path=stream.name, line=row[0]) from None
        documents.add(columns.text_of(cells), names, None if columns.id is None else cells[columns.id], row[0])
    return documents.dataset(stream.name, guessed=described(columns, header, separator))


def first_line(stream: Stream) -> str:
    return stream.head().decode("utf-8", "replace").partition("\n")[0].removesuffix("\r")


def column_separator(header: str) -> str:
    """Of tab, comma and semicolon the one that splits the header most; a tab where the first line is Annif's form."""
    if is_annif(header):
        return "\t"
    return max("\t,;", key=lambda separator: len(split_cells(header, separator)[0]))


def cells_of(row: Row, header: Sequence[str], name: str) -> list[str]:
    """The cells, if they are as many as the header's."""
    number, cells = row
    if len(cells) != len(header):
        raise DataError(
            f"the row has {len(cells)} cells but the header has {len(header)}",
            path=name,
            line=number,
            remedy='put "quotes" around cells that hold the separator',
        )
    return cells


def find_columns(header: list[str], fields: Fields, name: str) -> Columns:
    """Where the texts, the labels and the id are; a column that was asked for must be there."""
    texts = pick_texts(fields.text, header)
    labels = pick(fields.labels, LABEL_FIELDS, header)
    found = pick(fields.id, ID_FIELDS, header)
    for what, column, wanted, option in (
        ("labels", labels, fields.labels, "label_column"),
        ("text", texts or None, fields.text, "text_column"),
        ("id", found, fields.id, "id_column"),
    ):
        optional = what == "id" or (what == "labels" and not fields.need_labels)
        if column is None and (wanted is not None or not optional):
            there = ", ".join(repr(cell[:40]) for cell in header[:12] if cell) or "none"
            raise DataError(
                f"there is no {what} column{f' {wanted!r}' if wanted else ''}; the columns are {there}",
                path=name,
                line=1,
                remedy=f"name it with {option}" + ("" if what == "id" else f", or --{option.replace('_', '-')}"),
            )
    places = {cell: i for i, cell in reversed(list(enumerate(header)))}
    text = tuple(places[column] for column in texts)
    return Columns(text, None if labels is None else places[labels], None if found is None else places[found])


def described(columns: Columns, header: Sequence[str], separator: str | None) -> str:
    """What was taken for what, in one line: "text: title + abstract, labels: tags, separated by ;"."""
    said = "text: " + " + ".join(header[place] for place in columns.text)
    if columns.labels is not None:
        forms = {None: "one a row", LISTS: "as lists", URIS: "as URIs", "\t": "separated by a tab"}
        said += f", labels: {header[columns.labels]}, "
        said += forms.get(separator, "separated by a space" if separator == " " else f"separated by {separator}")
    left = [name for place, name in enumerate(header) if name.lower() == TITLE_FIELD and place not in columns.text]
    return said + (f"; {left[0]} is not read (--text-column joins columns: {left[0]},...)" if left else "")


def label_separator(cells: Iterable[str]) -> str | None:
    """What separates labels in these cells; None where each cell is one label."""
    cells = [cell.strip() for cell in cells if cell.strip()]
    if cells and all(cell.startswith("[") and cell.endswith("]") for cell in cells):
        return LISTS
    if cells and all(URI_CELL.fullmatch(cell) for cell in cells):
        return URIS
    for separator in "|;,\t":
        if any(separator in cell for cell in cells):
            return separator
    return " " if cells and all(word.isdigit() for cell in cells for word in cell.split()) else None


def split_labels(cell: str, separator: str | None) -> list[str]:
    """The labels of one cell; blanks around them and empty ones go."""
    if separator == LISTS:
        return parse_list(cell) if cell.strip() else []
    if separator == URIS:
        return _URI.findall(cell)
    parts = [cell] if separator is None else cell.split(separator)
    return [label for part in parts if (label := part.strip())]
