"""Sparse rows to be tagged (XMC, svmlight), some lines at a time."""

from __future__ import annotations

from collections.abc import Iterator

import scipy.sparse as sp

from zipfel.data import formats
from zipfel.data.growing import GrowingCSR
from zipfel.data.plain_rows import Layout, parse_line
from zipfel.data.sparse_rows import NOWHERE, Scratch, parse_block
from zipfel.data.streams import Stream
from zipfel.data.table import Line, numbered_lines
from zipfel.data.xmc import NEW_HEADER, OLD_HEADER, take_header
from zipfel.errors import DataError

Part = tuple[sp.csr_matrix, list[int | None], dict[int, DataError]]


def sparse_chunks(stream: Stream, kind: str, n_rows: int) -> Iterator[Part]:
    """(rows, their lines, faults by place) of at most n_rows lines at a time."""
    layout, first = Layout(headless=True), 1
    if kind != formats.SVMLIGHT:
        count, form = (3, OLD_HEADER) if kind == formats.XMC else (2, NEW_HEADER)
        promised, width, *more = take_header(stream, count, form)
        n_labels = more[0] if more else 0
        first = 2
        layout = Layout(has_labels=bool(more), n_features=width, n_labels=n_labels, n_rows=promised)
    lines: list[Line] = []
    seen, scratch = 0, Scratch()
    for line in numbered_lines(stream):
        if line is not None:
            lines.append((line[0] + first - 1, line[1]))
        if lines and (line is None or len(lines) >= n_rows):
            seen, part = _parsed(lines, layout, stream.name, seen, scratch)
            yield part
            lines = []
    if lines:
        seen, part = _parsed(lines, layout, stream.name, seen, scratch)
        yield part
    if layout.n_rows is not None and seen < layout.n_rows:
        raise DataError(
            f"the header says {layout.n_rows:,} rows but there are {seen:,}",
            path=stream.name,
            line=1,
            remedy="the file is cut off or its header is wrong",
        )


def _parsed(lines: list[Line], layout: Layout, name: str, seen: int, scratch: Scratch) -> tuple[int, Part]:
    """(rows seen so far, part); lines behind the promised rows must be blank."""
    if layout.n_rows is None or seen + len(lines) <= layout.n_rows:
        block = parse_block(b"".join(line + b"\n" for _, line in lines), layout, scratch)
        if block.fault == NOWHERE:
            found = block.features
            rows = GrowingCSR()
            rows.append(found.lengths, found.columns, found.values)
            known = len(found.lengths) == len(lines)
            places: list[int | None] = [None] * len(found.lengths)
            if known:
                places = [number for number, _ in lines]
            return seen + len(found.lengths), (rows.finish(), places, {})
    return _parsed_one_by_one(lines, layout, name, seen)


def _parsed_one_by_one(lines: list[Line], layout: Layout, name: str, seen: int) -> tuple[int, Part]:
    """Slower, with words for every fault."""
    rows = GrowingCSR()
    numbers: list[int | None] = []
    faults: dict[int, DataError] = {}
    for number, line in lines:
        surplus = layout.n_rows is not None and seen >= layout.n_rows
        if surplus and not line.strip():
            continue
        try:
            if surplus:
                raise ValueError(f"the header says {layout.n_rows:,} rows but there are more")
            row = parse_line(line.decode("utf-8", "replace"), layout)
        except ValueError as error:
            message, _, remedy = str(error).partition(" | ")
            faults[len(numbers) + len(faults)] = DataError(message, path=name, line=number, remedy=remedy)
        else:
            if row is None:
                continue
            rows.append([len(row[1])], list(row[1]), list(row[1].values()))
            numbers.append(number)
        seen += 1
    return seen, (rows.finish(), numbers, faults)
