"""Documents to be tagged, one row after another: plain text, JSON lines, CSV and fastText.

Each function yields a `Document`, the `DataError` of a row that cannot be read, or None where the next line would have
to be waited for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from zipfel.data.delimited import Columns, cells_of, column_separator, find_columns, first_line
from zipfel.data.documents import Fields, check_unicode
from zipfel.data.fasttext import PREFIX
from zipfel.data.formats import is_annif
from zipfel.data.jsonl import parse_document, words_of
from zipfel.data.streams import Stream
from zipfel.data.table import numbered_lines, rows_or_faults
from zipfel.errors import DataError


@dataclass(frozen=True)
class Document:
    """One document to be tagged, and where it stands."""

    text: str
    line: int
    id: str | None = None
    features: Mapping[int, float] | None = None


Rows = Iterator[Document | DataError | None]


def text_documents(stream: Stream, fields: Fields) -> Rows:  # noqa: ARG001 - it has none
    """Every line is a document, an empty one too, so that answers and lines match."""
    for text in _texts(stream):
        yield text if text is None or isinstance(text, DataError) else Document(text[1], text[0])


def fasttext_documents(stream: Stream, fields: Fields) -> Rows:  # noqa: ARG001 - it has none
    """Every line is a document; labels are left out."""
    for text in _texts(stream):
        if text is None or isinstance(text, DataError):
            yield text
        else:
            words = (word for word in text[1].split() if not word.startswith(PREFIX))
            yield Document(" ".join(words), text[0])


def jsonl_documents(stream: Stream, fields: Fields) -> Rows:
    """Every line that is not blank is an object; its labels are not looked at."""
    for text in _texts(stream):
        if text is None or isinstance(text, DataError):
            yield text
        elif text[1] and not text[1].isspace():
            number, line = text
            try:
                row = parse_document(line, fields)
                check_unicode(row.text)
                yield Document(row.text, number, row.id, row.features)
            except (ValueError, RecursionError) as error:
                message, _, remedy = words_of(error).partition(" | ")
                yield DataError(message, path=stream.name, line=number, remedy=remedy)


def csv_documents(stream: Stream, fields: Fields) -> Rows:
    """Rows below a header; blank ones are left out."""
    first = first_line(stream)
    rows = rows_or_faults(numbered_lines(stream), stream, column_separator(first))
    header, columns = ["text", "labels"], Columns((0,), 1, None)
    if not is_annif(first):
        header = []
    for row in rows:
        if row is None:
            yield None
        elif isinstance(row, DataError):
            yield row
        elif not header:
            header = [name.strip() for name in row[1]]
            columns = find_columns(header, fields, stream.name)
        else:
            try:
                cells = cells_of(row, header, stream.name)
                found = None if columns.id is None else cells[columns.id]
                yield Document(columns.text_of(cells), row[0], found)
            except DataError as error:
                yield error


def _texts(stream: Stream) -> Iterator[tuple[int, str] | DataError | None]:
    for line in numbered_lines(stream):
        if line is None:
            yield None
            continue
        try:
            yield line[0], stream.decoded(line[1], line[0])
        except DataError as error:
            yield error
