"""Parquet files with a text column and a column of label lists (or of text that is split like a CSV cell)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from zipfel.data.dataset import Dataset
from zipfel.data.delimited import ONE, described, find_columns, label_separator, split_labels
from zipfel.data.documents import Documents, Fields, joined_text
from zipfel.data.streams import STDIN
from zipfel.errors import DataError, MissingExtraError

_BATCH_ROWS = 4096


def read_parquet(path: str, fields: Fields) -> Dataset:
    """Needs the extra "parquet"; not from standard input, as the format is read from its end."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtraError("pyarrow", "parquet", "reading Parquet") from None
    if path == STDIN:
        raise DataError("Parquet cannot come from standard input", path="<stdin>", remedy="name the file")
    try:
        with pq.ParquetFile(path) as table:
            return _read(table, path, fields)
    except DataError:
        raise
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError) as error:
        first = str(error).partition("\n")[0][:200]
        raise DataError(f"is not a sound Parquet file: {first}", path=path) from None


def _read(table: Any, path: str, fields: Fields) -> Dataset:
    header = list(table.schema_arrow.names)
    columns = find_columns(header, fields, path)
    wanted = [header[place] for place in (*columns.text, columns.labels, columns.id) if place is not None]
    documents = Documents()
    separator = None if fields.label_separator == ONE else fields.label_separator
    for start, batch in _batches(table, wanted):
        texts = _texts(batch, [header[place] for place in columns.text], path, start)
        ids = None if columns.id is None else batch[header[columns.id]]
        cells = [None] * len(texts) if columns.labels is None else batch[header[columns.labels]]
        if fields.label_separator is None and start == 0:
            separator = label_separator(cell for cell in cells if isinstance(cell, str))
        for i, (text, cell) in enumerate(zip(texts, cells, strict=True)):
            found = None if ids is None or ids[i] is None else str(ids[i])
            documents.add(text, _labels(cell, separator, path, start + i), found)
    return documents.dataset(path, guessed=described(columns, header, separator))


def _texts(batch: dict[str, list[Any]], names: list[str], path: str, start: int) -> list[str]:
    """The text of each row: several columns are joined, and a missing value is empty."""
    for name in names:
        for i, text in enumerate(batch[name]):
            if not isinstance(text, str | None):
                raise DataError(f"the text of row {start + i} is {type(text).__name__}, not text", path=path)
    if len(names) == 1:
        return [text or "" for text in batch[names[0]]]
    return [joined_text(text or "" for text in row) for row in zip(*(batch[name] for name in names), strict=True)]


def _batches(table: Any, columns: list[str]) -> Iterator[tuple[int, dict[str, list[Any]]]]:
    start = 0
    for batch in table.iter_batches(batch_size=_BATCH_ROWS, columns=columns):
        yield start, batch.to_pydict()
        start += batch.num_rows


def _labels(cell: Any, separator: str | None, path: str, row: int) -> list[str]:
    if cell is None:
        return []
    if isinstance(cell, str):
        return split_labels(cell, separator)
    if isinstance(cell, int) and not isinstance(cell, bool):
        return [str(cell)]
    if isinstance(cell, list) and all(isinstance(label, str | int) for label in cell):
        return [str(label) for label in cell]
    raise DataError(f"the labels of row {row} must be a list of names or text", path=path)
