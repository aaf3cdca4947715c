"""A data file in pieces of whole rows, each read by itself, so that a file may be larger than memory.

JSON lines, fastText, svmlight and the old XMC format come piece by piece, the text formats through several processes.
The other formats (CSV, ARFF, npz, Parquet, the new XMC format) are read whole and come as one piece.
"""

from __future__ import annotations

import io
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.data import formats
from zipfel.data.dataset import Dataset, ReadReport
from zipfel.data.documents import Fields, RowNumber
from zipfel.data.fasttext import PREFIX, read_fasttext
from zipfel.data.jsonl import read_jsonl
from zipfel.data.plain_rows import Layout
from zipfel.data.plain_text import read_plain_text
from zipfel.data.sparse_rows import read_rows, report_on
from zipfel.data.streams import Stream
from zipfel.data.xmc import OLD_HEADER, take_header
from zipfel.errors import DataError

PIECE_BYTES = 8 << 20
_TEXT_READERS: dict[str, Callable[[Stream, Fields], Dataset]] = {
    formats.JSONL: read_jsonl,
    formats.FASTTEXT: lambda stream, fields: read_fasttext(stream, replace(fields, need_labels=False)),
    formats.TEXT: lambda stream, _: read_plain_text(stream),
}
IN_PIECES = (*_TEXT_READERS, formats.SVMLIGHT, formats.XMC)
"""Formats whose rows can be read a piece at a time."""


@dataclass(frozen=True)
class Strings:
    """Strings one behind the other."""

    utf8: bytes
    sizes: npt.NDArray[np.int64]  # bytes of each

    @classmethod
    def of(cls, strings: Sequence[str]) -> Strings:
        encoded = [string.encode("utf-8") for string in strings]
        return cls(b"".join(encoded), np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded)))

    @classmethod
    def empty(cls, n: int) -> Strings:
        return cls(b"", np.zeros(n, dtype=np.int64))

    def listed(self) -> list[str]:
        ends = np.cumsum(self.sizes).tolist()
        return [self.utf8[a:b].decode("utf-8") for a, b in zip([0, *ends], ends, strict=False)]


@dataclass(frozen=True)
class Piece:
    """Consecutive rows of a file.

    label_names: of the columns of Y, which count from 0 in each piece; None where a label's number is its name.
    own_ids: which rows have an id; the others get their number. n_lines, n_bytes: of the source, all together.
    """

    Y: sp.csr_matrix
    X: sp.csr_matrix | None
    texts: Strings | None
    ids: Strings | None
    own_ids: npt.NDArray[np.bool_] | None
    label_names: Sequence[str] | None
    lines: npt.NDArray[np.int64] | None
    report: ReadReport
    n_lines: int = 0
    n_bytes: int = 0

    @classmethod
    def of(cls, rows: Dataset, n_lines: int = 0, n_bytes: int = 0, *, numbered: bool = False) -> Piece:
        """numbered: whether rows without an id have the number already that they have in the whole."""
        ids = rows.ids
        own = None if ids is None else np.array([numbered or not isinstance(i, RowNumber) for i in ids], dtype=bool)
        texts = None if rows.texts is None else Strings.of(rows.texts)
        given = None if ids is None else Strings.of(ids)
        return cls(rows.Y, rows.X, texts, given, own, rows.label_names, rows.lines, rows.report, n_lines, n_bytes)


def header_layout(stream: Stream, format: str) -> Layout | None:  # noqa: A002 - the word users look for
    """What the lines look like, for formats of numbers; takes the header of an XMC file off the stream."""
    if format == formats.SVMLIGHT:
        return Layout(headless=True)
    if format == formats.XMC:
        n_rows, n_features, n_labels = take_header(stream, 3, OLD_HEADER)
        return Layout(n_features=n_features, n_labels=n_labels, n_rows=n_rows)
    return None


def skip(stream: Stream, n_bytes: int) -> None:
    """Reads past what earlier work has seen."""
    while n_bytes:
        block = stream.read(min(n_bytes, PIECE_BYTES))
        if not block and n_bytes == 1:  # the last line got the newline that it lacked
            return
        if not block:
            raise DataError("has become shorter since a part of it was packed", path=stream.name)
        n_bytes -= len(block)


def pieces(
    stream: Stream,
    format: str,  # noqa: A002 - as above
    fields: Fields,
    layout: Layout | None,
    first_line: int,
    workers: int,
) -> Iterator[Piece]:
    """The rows that are left in the stream, in order. layout: of formats of numbers; first_line: of the next line."""
    blocks = stream.blocks(PIECE_BYTES)
    if layout is not None:
        yield from _number_pieces(blocks, stream.name, layout, first_line)
        return
    for piece in _by_processes(_read_text, ((block, format, fields, stream.name) for block in blocks), workers):
        if isinstance(piece, DataError):
            raise _moved(piece, first_line - 1)
        yield replace(piece, lines=None if piece.lines is None else piece.lines + (first_line - 1))
        first_line += piece.n_lines


def check_labels(format: str, nnz: int, fields: Fields, name: str) -> None:  # noqa: A002 - as above
    """What a reader of whole files checks at their end."""
    if format == formats.FASTTEXT and fields.need_labels and not nnz:
        raise DataError(
            f"there is no label: no word begins with {PREFIX}", path=name, remedy="is it in another format?"
        )


def _number_pieces(blocks: Iterator[bytes], name: str, layout: Layout, line: int) -> Iterator[Piece]:
    for block in blocks:
        rows = read_rows(Stream(io.BytesIO(block), name), replace(layout, n_rows=None), first_line=line)
        X, Y = rows.X.finish(), rows.Y.finish()
        n_lines = block.count(b"\n")
        if layout.n_rows is not None and line - 2 + len(Y.indptr) - 1 > layout.n_rows:
            X, Y = _without_blank_end(X, Y, max(layout.n_rows - (line - 2), 0), layout.n_rows, name)
        report = report_on(X, Y, rows.duplicate_features, rows.duplicate_labels)
        yield Piece(Y, X, None, None, None, None, None, report, n_lines, len(block))
        line += n_lines


def _without_blank_end(
    X: sp.csr_matrix, Y: sp.csr_matrix, kept: int, promised: int, name: str
) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """The rows that the header says; lines behind them must be blank."""
    if X.indptr[-1] > X.indptr[kept] or Y.indptr[-1] > Y.indptr[kept]:
        message = f"the header says {promised:,} rows but there are more"
        raise DataError(message, path=name, line=promised + 2, remedy="correct the first number of the header")
    return X[:kept], Y[:kept]


def _read_text(task: tuple[bytes, str, Fields, str]) -> Piece | DataError:
    """One piece; an error is returned, as its line is known only where the pieces come together."""
    block, format, fields, name = task  # noqa: A001 - as above
    n_lines = block.count(b"\n")
    try:
        return Piece.of(_TEXT_READERS[format](Stream(io.BytesIO(block), name), fields), n_lines, len(block))
    except DataError as error:
        if not block.strip() and format == formats.JSONL:  # blank lines are no rows
            empty = sp.csr_matrix((0, 0), dtype=np.float32)
            return Piece(empty, None, Strings.of([]), None, None, [], None, ReadReport(), n_lines, len(block))
        return error


def _moved(error: DataError, lines: int) -> DataError:
    """The same error, so many lines further down."""
    place, line = f"{error.path}:{error.line}: ", error.line
    message = str(error).removeprefix(place) if line else str(error).removeprefix(f"{error.path}: ")
    message = message.removesuffix(f" ({error.remedy})") if error.remedy else message
    return DataError(message, path=error.path, line=line + lines if line else None, remedy=error.remedy)


def _by_processes(work: Callable[[Any], Any], tasks: Iterator[Any], workers: int) -> Iterator[Any]:
    """work(task) for each, in order, in so many processes; a single task needs none."""
    first = [task for _, task in zip(range(2), tasks, strict=False)]
    if workers == 1 or len(first) < 2:
        yield from map(work, first)
        yield from map(work, tasks)
        return
    pending: deque[Future[Any]] = deque()
    with ProcessPoolExecutor(workers, get_context("spawn"), _begin_worker, (os.getpid(),)) as pool:
        try:
            for task in first:
                pending.append(pool.submit(work, task))
            for task in tasks:
                pending.append(pool.submit(work, task))
                if len(pending) > workers + 1:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


def _begin_worker(parent: int) -> None:
    """Leaves Ctrl-C to the parent, and ends with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
