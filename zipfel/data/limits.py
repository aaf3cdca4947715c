"""Limits on the content of small data files, so that time and memory stay in proportion to the bytes of a file.

| what | limit |
|---|---|
| content of a compressed file (.gz, .zst, .npz, Parquet) | 16 MB, or 200 times its size |
| columns (the largest label or feature id, or what a header says) | 4 million, or 100 times the entries |
| rows that hold nothing (.npz) | 4 million, or 100 times the entries |

Honest label data shrink by a factor of 3 to 20 and use most of their columns. `trusting` lifts the limits, or
`--trust-data` on the command line.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from zipfel.errors import DataError

FREE_BYTES, MAX_SWELL = 1 << 24, 200
FREE_COLUMNS, COLUMNS_PER_ENTRY = 1 << 22, 100

_REMEDY = "if you trust where it comes from, add --trust-data, or read it inside `with zipfel.data.trusting():`"
_trusted: ContextVar[bool] = ContextVar("trusted", default=False)


@contextmanager
def trusting() -> Iterator[None]:
    """Lifts the limits within the block, for files from a source that you trust.

    >>> with trusting():
    ...     pass  # read(...)
    """
    token = _trusted.set(True)
    try:
        yield
    finally:
        _trusted.reset(token)


def is_trusted() -> bool:
    return _trusted.get()


def room_for(packed: int) -> int:
    """Bytes that a compressed file of `packed` bytes may hold."""
    return max(FREE_BYTES, MAX_SWELL * packed)


def check_swell(seen: int, packed: int, name: str) -> None:
    """Raises where `packed` compressed bytes have become too many."""
    if seen > room_for(packed) and not is_trusted():
        raise DataError(
            f"swells to more than {MAX_SWELL} times its size and {FREE_BYTES >> 20} MB, more than data files do",
            path=name,
            remedy=_REMEDY,
        )


def check_size(size: int, entries: int, what: str, name: str) -> None:
    """Raises where a matrix of few entries would have too many rows or columns; what: "labels", "features", "rows"."""
    if size > max(FREE_COLUMNS, COLUMNS_PER_ENTRY * entries) and not is_trusted():
        raise DataError(
            f"asks for {size:,} {what} but has only {entries:,} entries (ids count from 0)", path=name, remedy=_REMEDY
        )
