"""Files that appear whole or not at all: written beside, then renamed."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

import zstandard

from zipfel.errors import DataError
from zipfel.system.interrupts import check_halted
from zipfel.system.temporary import scratch_beside

_BUFFER = 1 << 20


def write_files(files: Sequence[tuple[Path, Iterable[str]]]) -> list[Path]:
    """Writes each file's pieces as UTF-8; nothing is renamed into place before the last is complete."""
    if len({path.absolute() for path, _ in files}) < len(files):
        raise DataError("two files would have the same name", remedy="name the second one")
    path = Path()
    try:
        with ExitStack() as stack:
            parts = {path: stack.enter_context(scratch_beside(path)) for path, _ in files}
            for path, pieces in files:
                with _writing(parts[path], path) as put:
                    for block in _blocks(pieces):
                        put(block)
            check_halted()  # a stopped command may have seen only the beginning of its input
            for path, part in parts.items():
                part.replace(path)
    except OSError as error:
        raise DataError(f"cannot be written: {error.strerror or error}", path=path) from None
    return [path for path, _ in files]


def _blocks(pieces: Iterable[str]) -> Iterator[bytes]:
    waiting, size = [], 0
    for piece in pieces:
        waiting.append(piece)
        size += len(piece)
        if size > _BUFFER:
            yield "".join(waiting).encode("utf-8")
            waiting, size = [], 0
    yield "".join(waiting).encode("utf-8")


@contextmanager
def _writing(part: Path, path: Path) -> Iterator[Callable[[bytes], object]]:
    with part.open("wb") as raw, _compressed(raw, path.suffix.lower()) as packed:
        yield packed.write
        packed.flush()


@contextmanager
def _compressed(raw: BinaryIO, suffix: str) -> Iterator[BinaryIO]:
    """No time or name goes into a .gz, so that equal data gives equal files."""
    if suffix == ".gz":
        with gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=6, mtime=0) as packed:
            yield packed  # type: ignore[misc]
    elif suffix == ".zst":
        with zstandard.ZstdCompressor(level=3).stream_writer(raw, closefd=False) as packed:
            yield packed
    else:
        yield raw
