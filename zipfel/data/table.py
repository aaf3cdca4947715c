"""Rows of CSV and TSV, one after another, with their line numbers.

A cell that begins with a quote may hold separators and line ends, and "" is a quote in it. A quote anywhere else is
only a quote: inside of a cell, or at its beginning where the closing quote is missing or has text behind it. The cost
is linear in the input, and no cell is too long.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Generator, Iterable, Iterator

from zipfel.data.streams import Stream
from zipfel.errors import DataError

MAX_CELL = 1 << 24
"""Characters that are searched for the end of a quoted cell."""

Line = tuple[int, bytes]
Row = tuple[int, list[str]]

_BODY = re.compile(r'"[^"]*(?:""[^"]*)*')
_UNTIL_QUOTE = re.compile(r'[^"]*(?:""[^"]*)*')


def numbered_lines(stream: Stream) -> Iterator[Line | None]:
    """(number from 1, bytes without the line end) of each line; None whenever the next may have to be waited for."""
    number = 0
    for block in stream.blocks_as_they_come():
        if not block:
            yield None
            continue
        for line in block.split(b"\n")[:-1]:
            number += 1
            yield number, line.removesuffix(b"\r")


def table_rows(stream: Stream, separator: str) -> Iterator[Row]:
    """(number of the first line, cells) of each row that is not blank. Raises the first fault."""
    for row in rows_or_faults(numbered_lines(stream), stream, separator):
        if isinstance(row, DataError):
            raise row
        if row is not None:
            yield row


def rows_or_faults(lines: Iterable[Line | None], stream: Stream, separator: str) -> Iterator[Row | DataError | None]:
    """Rows; for a row that cannot be read its error; None where the lines have to be waited for."""
    return _Rows(iter(lines), stream, separator).rows()


class _Rows:
    def __init__(self, lines: Iterator[Line | None], stream: Stream, separator: str) -> None:
        self._lines, self._stream, self._separator = lines, stream, separator
        self._again: deque[Line] = deque()
        """Lines that were read in search of a quote, and are rows of their own."""

    def rows(self) -> Iterator[Row | DataError | None]:
        while True:
            line = self._next()
            if line is None:
                yield None
            elif isinstance(line, str):
                return
            elif line[1]:
                try:
                    cells = yield from self._cells(*line)
                except DataError as error:
                    yield error
                else:
                    yield line[0], cells

    def _next(self) -> Line | str | None:
        """A line, None for a pause, "" at the end."""
        return self._again.popleft() if self._again else next(self._lines, "")

    def _cells(self, number: int, line: bytes) -> Generator[None, None, list[str]]:
        cells, rest = split_cells(self._stream.decoded(line, number), self._separator)
        while rest is not None:
            more, ended = yield from self._until_quote()
            joined = "\n".join([rest, *more])
            if ended and _closes(joined, self._separator):
                found, rest = split_cells(joined, self._separator)
                self._forget(len(more))
            elif self._separator == "\t" or ended:  # it was only a quote
                found, rest = split_cells(rest, self._separator, literal=True)
            else:
                raise DataError(
                    "the table is broken: a quoted cell that begins here does not end",
                    path=self._stream.name,
                    line=number,
                    remedy='close the "quotes"; a quote inside of them is written twice',
                )
            cells += found
        return cells

    def _until_quote(self) -> Generator[None, None, tuple[list[str], bool]]:
        """(the lines up to one that has a single quote, whether there is one); all of them are still to be read."""
        taken: list[Line] = []
        texts: list[str] = []
        size, ended = 0, False
        try:
            while not ended and size <= MAX_CELL:
                line = self._next()
                if line is None:
                    yield None
                    continue
                if isinstance(line, str):
                    break
                taken.append(line)
                texts.append(self._stream.decoded(line[1], line[0]))
                size += len(texts[-1])
                found = _UNTIL_QUOTE.match(texts[-1])
                ended = found is not None and found.end() < len(texts[-1])
        finally:
            self._again.extendleft(reversed(taken))
        return texts, ended

    def _forget(self, n: int) -> None:
        for _ in range(n):
            self._again.popleft()


def split_cells(line: str, separator: str, *, literal: bool = False) -> tuple[list[str], str | None]:
    """(cells, None), or the cells before a quoted one that does not end in this line, and the line from there on.

    literal: a quote at the beginning of the line is only a quote.
    """
    if '"' not in line:
        return line.split(separator), None
    cells: list[str] = []
    at = 0
    while True:
        body = None if literal else _BODY.match(line, at)
        literal = False
        if body is not None:
            end = body.end()
            if end == len(line):
                return cells, line[at:]
            if end + 1 == len(line) or line[end + 1] == separator:
                cells.append(line[at + 1 : end].replace('""', '"'))
                at = end + 2
                if end + 1 == len(line):
                    return cells, None
                continue
        end = line.find(separator, at)
        if end < 0:
            cells.append(line[at:])
            return cells, None
        cells.append(line[at:end])
        at = end + 1


def _closes(text: str, separator: str) -> bool:
    """Whether the quoted cell that begins the text ends before a separator or at the end."""
    body = _BODY.match(text)
    end = body.end() if body else len(text)
    return end < len(text) and (end + 1 == len(text) or text[end + 1] == separator)
