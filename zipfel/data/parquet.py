"""Parquet files with a text column and a column of label lists (or of text that is split like a CSV cell)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from zipfel.data.dataset import Dataset
from zipfel.data.delimited import ONE, described, find_columns, label_separator, split_labels
from zipfel.data.documents import Documents, Fields, joined_text
from zipfel.data.limits import check_swell
from zipfel.data.streams import STDIN
from zipfel.errors import DataError, MissingExtraError

_BATCH_ROWS = 4096
_VALUE_BYTES = 4
"""What a value takes at least: its length, or its place in a dictionary."""


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
            _check_footer(table, path)
        with pq.ParquetFile(path, read_dictionary=_texts_of(table)) as table:
            return _read(table, path, fields)
    except DataError:
        raise
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError) as error:
        first = str(error).partition("\n")[0][:200]
        raise DataError(f"is not a sound Parquet file: {first}", path=path) from None


def _check_footer(table: Any, path: str) -> None:
    """What the file says of itself: bytes and values behind the compression."""
    facts, size = table.metadata, Path(path).stat().st_size
    groups = [facts.row_group(i) for i in range(facts.num_row_groups)]
    columns = [group.column(j) for group in groups for j in range(group.num_columns)]
    check_swell(sum(column.total_uncompressed_size for column in columns), size, path)
    check_swell(_VALUE_BYTES * sum(column.num_values for column in columns), size, path)


def _texts_of(table: Any) -> list[str]:
    """Paths of the columns of text: they stay dictionaries, in which a text that occurs often stands once."""
    columns = (table.schema.column(i) for i in range(len(table.schema)))
    return [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]


def _read(table: Any, path: str, fields: Fields) -> Dataset:
    header = list(table.schema_arrow.names)
    columns = find_columns(header, fields, path)
    wanted = [header[place] for place in (*columns.text, columns.labels, columns.id) if place is not None]
    documents = Documents()
    separator = None if fields.label_separator == ONE else fields.label_separator
    for start, batch in _batches(table, wanted, path):
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


def _batches(table: Any, columns: list[str], path: str) -> Iterator[tuple[int, dict[str, list[Any]]]]:
    start, seen, size = 0, 0, Path(path).stat().st_size
    for batch in table.iter_batches(batch_size=_BATCH_ROWS, columns=columns):
        seen += sum(_bytes_in(column) for column in batch.columns)
        check_swell(seen, size, path)
        yield start, batch.to_pydict()
        start += batch.num_rows


def _bytes_in(array: Any) -> int:
    """About what the values take when each stands for itself."""
    import pyarrow as pa
    import pyarrow.compute as pc

    own = _VALUE_BYTES * len(array)
    if pa.types.is_list(array.type) or pa.types.is_large_list(array.type):
        return own + _bytes_in(array.flatten())
    if pa.types.is_dictionary(array.type):
        lengths = pc.take(pc.binary_length(array.dictionary), array.indices)
        return own + int(pc.sum(pc.cast(lengths, pa.int64())).as_py() or 0)
    return max(own, int(array.nbytes))


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
