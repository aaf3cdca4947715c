"""Lines of "l1,l2 f:v f:v" to sparse matrices: block by block, on all threads, with faults located to their line."""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.data._rows_kernel import parse_rows
from zipfel.data.dataset import ReadReport
from zipfel.data.growing import GrowingCSR
from zipfel.data.plain_rows import MAX_FLOAT32, Layout, parse_line
from zipfel.data.streams import Stream
from zipfel.errors import DataError
from zipfel.system.threads import get_threads

NOWHERE = -1
SOMEWHERE = -2  # a fault that only the plain parser can place


@dataclass
class Rows:
    """All rows of a file, and what was mended in them."""

    X: GrowingCSR = field(default_factory=GrowingCSR)
    Y: GrowingCSR = field(default_factory=GrowingCSR)
    duplicate_features: int = 0
    duplicate_labels: int = 0

    def __len__(self) -> int:
        return len(self.X.lengths)

    def reserve(self, first: Parsed, blocks: float) -> None:
        """Room for so many blocks like the first one, and some more."""
        for matrix, part in ((self.X, first.features), (self.Y, first.labels)):
            matrix.reserve(int(1.1 * blocks * len(part.lengths)), int(1.1 * blocks * len(part.columns)))


@dataclass(frozen=True)
class _Part:
    """The entries of one block's rows, as a sparse matrix without a shape."""

    lengths: npt.NDArray[np.int32]  # (rows,)
    columns: npt.NDArray[np.int32]
    values: npt.NDArray[np.float32]
    duplicates: int = 0


@dataclass(frozen=True)
class Parsed:
    """A block's rows; fault: its position in the block, NOWHERE or SOMEWHERE."""

    features: _Part
    labels: _Part
    fault: int


def read_rows(stream: Stream, layout: Layout, first_line: int) -> Rows:
    """All lines that are left in the stream; `first_line` is the number of the next one."""
    rows, line = Rows(), first_line
    for block, parsed in _parsed_blocks(stream, layout):
        if parsed.fault != NOWHERE:
            raise _located(block, parsed.fault, layout, stream.name, line)
        known = len(rows)
        if not known and stream.size:
            rows.reserve(parsed, stream.size / len(block))
        rows.X.append(parsed.features.lengths, parsed.features.columns, parsed.features.values)
        rows.Y.append(parsed.labels.lengths, parsed.labels.columns, parsed.labels.values)
        rows.duplicate_features += parsed.features.duplicates
        rows.duplicate_labels += parsed.labels.duplicates
        if layout.n_rows is not None and len(rows) > layout.n_rows:
            _check_surplus(parsed, layout.n_rows - known, layout.n_rows, stream.name, line)
            rows.X.lengths.trim(layout.n_rows)
            rows.Y.lengths.trim(layout.n_rows)
        line += block.count(b"\n")
    if layout.n_rows is not None and len(rows) < layout.n_rows:
        raise DataError(
            f"the header says {layout.n_rows:,} rows but there are {len(rows):,}",
            path=stream.name,
            line=1,
            remedy="the file is cut off or its header is wrong",
        )
    return rows


def report_on(X: sp.csr_matrix | None, Y: sp.csr_matrix, duplicate_features: int, duplicate_labels: int) -> ReadReport:
    """What was mended, and how many rows lack something."""
    bare = 0 if X is None else int((np.diff(X.indptr) == 0).sum())
    return ReadReport(duplicate_features, duplicate_labels, int((np.diff(Y.indptr) == 0).sum()), bare)


def _parsed_blocks(stream: Stream, layout: Layout) -> Iterator[tuple[bytes, Parsed]]:
    """Blocks in the order of the file; while they are parsed, the next ones are read. One block needs no threads."""
    threads, scratch, blocks = get_threads(), Scratch(), stream.blocks()
    begin = list(itertools.islice(blocks, 2))
    if len(begin) < 2:
        yield from ((block, parse_block(block, layout, scratch)) for block in begin)
        return
    waiting: deque[tuple[bytes, Future[Parsed]]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        for block in itertools.chain(begin, blocks):
            waiting.append((block, pool.submit(parse_block, block, layout, scratch)))
            if len(waiting) > threads:
                ready, future = waiting.popleft()
                yield ready, future.result()
        while waiting:
            ready, future = waiting.popleft()
            yield ready, future.result()


class Scratch(threading.local):
    """Arrays that a thread's blocks are parsed into, kept from block to block: fresh memory is slow at first touch."""

    def __init__(self) -> None:
        self.size = 0

    def sized(self, size: int) -> None:
        if size > self.size:
            self.size = size
            self.columns = np.empty(size // 4 + 1, dtype=np.int32)  # an entry takes at least four bytes: "0:1 "
            self.values = np.empty(size // 4 + 1, dtype=np.float32)
            self.labels = np.empty(size // 2 + 1, dtype=np.int32)  # "0,"
            self.hard = np.empty(size // 2 + 2, dtype=np.int64)


def parse_block(block: bytes, layout: Layout, scratch: Scratch) -> Parsed:
    scratch.sized(len(block))
    columns, values, labels, hard = scratch.columns, scratch.values, scratch.labels, scratch.hard
    lengths = np.empty((2, block.count(b"\n")), dtype=np.int32)
    n, nf, nl, nh, fault, tidy = parse_rows(
        np.frombuffer(block, dtype=np.uint8),
        layout.has_labels,
        layout.headless,
        layout.n_features,
        layout.n_labels,
        lengths[0],
        lengths[1],
        columns,
        values,
        labels,
        hard,
    )
    for at, place in hard[: 2 * nh].reshape(-1, 2).tolist():
        value = float(block[at : at + 4096].split(None, 1)[0])
        if abs(value) >= MAX_FLOAT32:
            fault = at if fault == NOWHERE else min(fault, at)
            break
        values[place] = value
        tidy = tidy and values[place] != 0
    features = _Part(lengths[0, :n], columns[:nf].copy(), values[:nf].copy())
    owned = _Part(lengths[1, :n], labels[:nl].copy(), np.ones(nl, dtype=np.float32))
    if fault == NOWHERE and not tidy:
        features, owned = _mended(features), _mended(owned)
        owned.values.fill(1)  # a label that stands twice in a row is one label
        if not np.isfinite(features.values).all():
            fault = SOMEWHERE
    return Parsed(features, owned, fault)


def _mended(part: _Part) -> _Part:
    """Sorts each row's columns and adds up duplicates."""
    indptr = np.concatenate([[0], np.cumsum(part.lengths)])
    shape = (len(part.lengths), int(part.columns.max(initial=0)) + 1)
    matrix = sp.csr_matrix((part.values, part.columns, indptr), shape=shape)
    matrix.sum_duplicates()
    duplicates = len(part.columns) - matrix.nnz
    matrix.eliminate_zeros()
    return _Part(np.diff(matrix.indptr), matrix.indices, matrix.data, duplicates)


def _located(block: bytes, fault: int, layout: Layout, name: str, first_line: int) -> DataError:
    """The error in words, from the plain parser."""
    start = 0 if fault == SOMEWHERE else block.rfind(b"\n", 0, fault) + 1
    number = first_line + block.count(b"\n", 0, start)
    for number, line in enumerate(block[start:].split(b"\n")[:-1], start=number):  # noqa: B020 - goes on counting
        try:
            parse_line(line.decode("utf-8", "replace"), layout)
        except ValueError as error:
            message, _, remedy = str(error).partition(" | ")
            return DataError(message, path=name, line=number, remedy=remedy)
        if fault != SOMEWHERE:
            break
    return DataError("the line cannot be read", path=name, line=number)


def _check_surplus(parsed: Parsed, kept: int, promised: int, name: str, first_line: int) -> None:
    """Rows behind the last one that the header says must be blank."""
    kept = max(kept, 0)
    full = np.flatnonzero(parsed.features.lengths[kept:] + parsed.labels.lengths[kept:])
    if len(full):
        raise DataError(
            f"the header says {promised:,} rows but there are more",
            path=name,
            line=first_line + kept + int(full[0]),
            remedy="correct the first number of the header",
        )
