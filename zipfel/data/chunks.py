"""`read_chunks` reads documents to be tagged in chunks. A line that cannot be read does not affect the others.

A chunk ends where it is full, or where the next line would have to be waited for. So the answers are never further
behind the input than a chunk, and the memory does not grow with the input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from zipfel.data import formats
from zipfel.data.dataset import Dataset
from zipfel.data.document_rows import Document, csv_documents, fasttext_documents, jsonl_documents, text_documents
from zipfel.data.documents import Fields
from zipfel.data.formats import detect_documents
from zipfel.data.growing import GrowingCSR
from zipfel.data.packed import is_packed, open_packed
from zipfel.data.reading import read_documents
from zipfel.data.sparse_chunks import sparse_chunks
from zipfel.data.streams import STDIN, Stream, bare_suffix, open_stream
from zipfel.data.text_folder import is_text_folder
from zipfel.errors import DataError, ParameterError, nearest

CHUNK_ROWS = 4096
CHUNK_BYTES = 1 << 22
"""A chunk is full with as many documents, or characters of text."""

ON_ERROR = ("stop", "skip", "null")


@dataclass(frozen=True)
class Chunk:
    """Some documents, and the faults among them.

    ids: of the documents; None where one has none. lines: where they stand, counted from 1; None where that is unknown.
    faults: by place among documents and faults together, counted from 0.
    """

    documents: Dataset
    ids: Sequence[str | None]
    lines: Sequence[int | None]
    faults: dict[int, DataError] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """Documents and faults."""
        return self.documents.n_points + len(self.faults)


def read_chunks(
    path: str | Path,
    *,
    texts: bool = True,
    format: str = "auto",  # noqa: A002 - the word users look for
    text_column: str | None = None,
    id_column: str | None = None,
    on_error: str = "stop",
) -> Iterator[Chunk]:
    """The documents of a file, or of standard input for "-", in chunks.

    texts: whether a model that reads texts asks. Its standard input is plain text, one document a line, unless the
    first line is a JSON object with "text" or `format` says otherwise.
    on_error: how to treat a line that cannot be read. "stop" raises its `DataError` after the chunk before it. "skip"
    and "null" put it into `Chunk.faults` and continue.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> file = Path(mkdtemp()) / "two.jsonl"
    >>> _ = file.write_text('{"id": "a", "text": "one"}\\nnonsense\\n')
    >>> [(chunk.documents.texts, chunk.ids, list(chunk.faults)) for chunk in read_chunks(file, on_error="skip")]
    [(['one'], ['a'], [1])]
    """
    check_source(format, on_error)
    if is_packed(path):
        yield from _whole_chunks(open_packed(path))
        return
    if is_text_folder(path):
        yield from _whole_chunks(read_documents(path))
        return
    fields = Fields(text_column, None, id_column, need_labels=False)
    with open_stream(path, live=True) as stream:
        if not stream.head():
            raise DataError("the file is empty", path=stream.name)
        suffix = "" if str(path) == STDIN else bare_suffix(path)
        kind = (
            detect_documents(stream.head(), stream.name, suffix, fields.text, texts=texts)
            if format == "auto"
            else format
        )
        for chunk in _chunks(stream, str(path), kind, fields):
            yield from _stopped_at_fault(chunk) if on_error == "stop" else (chunk,)


def check_source(format: str, on_error: str) -> None:  # noqa: A002 - as above
    """Refuses words that `read_chunks` does not know."""
    if format != "auto" and format not in formats.FORMATS:
        raise ParameterError(f"unknown format {format!r}{nearest(format, ['auto', *formats.FORMATS])}")
    if on_error not in ON_ERROR:
        raise ParameterError(f"on_error must be one of {', '.join(ON_ERROR)}, got {on_error!r}")


def _chunks(stream: Stream, path: str, kind: str, fields: Fields) -> Iterator[Chunk]:
    if kind in _DOCUMENTS:
        yield from _grouped(_DOCUMENTS[kind](stream, fields))
    elif kind in (formats.XMC, formats.XMC_PAIR, formats.SVMLIGHT):
        for X, lines, faults in sparse_chunks(stream, kind, CHUNK_ROWS):
            yield Chunk(_dataset(None, X), [None] * X.shape[0], lines, faults)
    else:
        yield from _whole_chunks(read_documents(path, format=kind, text_column=fields.text, id_column=fields.id))


def _whole_chunks(whole: Dataset) -> Iterator[Chunk]:
    for part in whole.runs(CHUNK_ROWS):
        yield Chunk(part, part.ids or [None] * part.n_points, [None] * part.n_points)


_DOCUMENTS: dict[str, Callable[[Stream, Fields], Iterator[Document | DataError | None]]] = {
    formats.TEXT: text_documents,
    formats.JSONL: jsonl_documents,
    formats.CSV: csv_documents,
    formats.FASTTEXT: fasttext_documents,
}


def _stopped_at_fault(chunk: Chunk) -> Iterator[Chunk]:
    """The documents before the first fault; then it is raised."""
    if not chunk.faults:
        yield chunk
        return
    place = min(chunk.faults)
    if place:
        yield Chunk(chunk.documents.take(np.arange(place)), chunk.ids[:place], chunk.lines[:place])
    raise chunk.faults[place]


def _grouped(documents: Iterator[Document | DataError | None]) -> Iterator[Chunk]:
    group = _Group()
    try:
        for document in documents:
            if document is not None:
                group.add(document)
            if group.n_rows and (document is None or group.is_full):
                yield group.chunk()
                group = _Group()
    except DataError:
        if group.n_rows:
            yield group.chunk()  # what came before a damaged end is answered
        raise
    if group.n_rows:
        yield group.chunk()


class _Group:
    """Documents and faults on their way to a chunk."""

    def __init__(self) -> None:
        self._documents: list[Document] = []
        self._faults: dict[int, DataError] = {}
        self._size = 0

    @property
    def n_rows(self) -> int:
        return len(self._documents) + len(self._faults)

    @property
    def is_full(self) -> bool:
        return self.n_rows >= CHUNK_ROWS or self._size >= CHUNK_BYTES

    def add(self, document: Document | DataError) -> None:
        if isinstance(document, DataError):
            self._faults[self.n_rows] = document
            return
        self._documents.append(document)
        self._size += len(document.text) + 16 * len(document.features or ())

    def chunk(self) -> Chunk:
        found = self._documents
        X = None
        if any(document.features is not None for document in found):
            rows = GrowingCSR()
            for document in found:
                columns = sorted(document.features or ())
                rows.append([len(columns)], columns, [(document.features or {})[column] for column in columns])
            X = rows.finish()
        texts = [document.text for document in found]
        ids, lines = [document.id for document in found], [document.line for document in found]
        return Chunk(_dataset(texts if X is None or any(texts) else None, X), ids, lines, self._faults)


def _dataset(texts: list[str] | None, X: sp.csr_matrix | None) -> Dataset:
    n_points = len(texts) if texts is not None else 0 if X is None else X.shape[0]
    return Dataset(Y=sp.csr_matrix((n_points, 0), dtype=np.float32), X=X, texts=texts)
