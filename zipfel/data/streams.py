"""Opens a file, plain, .gz, .zst or standard input, as blocks of whole lines, within bounds and with clear errors."""

from __future__ import annotations

import gzip
import io
import os
import re
import select
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import zstandard

from zipfel.data.limits import check_swell
from zipfel.errors import DataError

STDIN = "-"
HEAD_BYTES = 1 << 16
BLOCK_BYTES = 1 << 19
MAX_LINE_BYTES = 1 << 28
BOM = b"\xef\xbb\xbf"

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_GZIP_OR_ZSTD = re.compile(rb"\x1f(\x8b|\Z)|\x28(\xb5|\Z)")
"""The beginning of a compressed file."""
_SUFFIX_MAGIC = {".gz": _GZIP, ".zst": _ZSTD}


def bare_suffix(path: str | Path) -> str:
    """The suffix that names the format, in lower case and without .gz or .zst: '.jsonl' for 'a.jsonl.gz'."""
    path = Path(path)
    if path.suffix.lower() in _SUFFIX_MAGIC:
        path = path.with_suffix("")
    return path.suffix.lower()


class Stream:
    """The decompressed bytes of one file. `name` appears in errors; `size` is the file's length in bytes, if known.

    live: a read returns as soon as there is data, and the head ends with the first line. The first line of a pipe can
    then be answered before the second is written.
    """

    def __init__(self, raw: BinaryIO, name: str, suffix: str = "", *, live: bool = False) -> None:
        self.name = name
        self._live = live
        counted = _Counted(raw, live=live)
        head = counted.read(HEAD_BYTES) if live else _fill(counted, 4)
        while live and len(head) < 4 and _GZIP_OR_ZSTD.match(head) and (more := counted.read(HEAD_BYTES)):
            head += more
        source = _Chained(head, counted)
        magic = next((m for m in (_GZIP, _ZSTD) if head.startswith(m)), b"")
        expected = _SUFFIX_MAGIC.get(suffix, b"")
        if expected and magic != expected:
            kind = "gzip" if expected == _GZIP else "zstandard"
            raise DataError(
                f"the name ends in {suffix} but the content is not {kind}",
                path=name,
                remedy="rename the file or compress it again",
            )
        self.size = None if magic else _size_of(raw)
        self._swelling = bool(magic)
        self._compressed = counted
        self._source: Callable[[int], bytes] = source.read
        if magic == _GZIP:
            self._source = gzip.GzipFile(fileobj=source, mode="rb").read
        elif magic == _ZSTD:
            self._source = _Zstd(source.read).read
        self._seen = 0
        self._pushed = b""
        self._start()

    def _start(self) -> None:
        if not self._live:
            self._pushed = _fill(self, HEAD_BYTES).removeprefix(BOM)
            return
        head = b""
        while len(head) < MAX_LINE_BYTES and b"\n" not in head and (block := self.read(BLOCK_BYTES)):
            head += block
        self._pushed = head.removeprefix(BOM)

    def head(self) -> bytes:
        """The first bytes (64 KB where there are as many; if live, the first line at least), still to be read."""
        return self._pushed

    def read(self, size: int) -> bytes:
        """At most `size` bytes; none only at the end."""
        if self._pushed:
            taken, self._pushed = self._pushed[:size], self._pushed[size:]
            return taken
        try:
            block = self._source(size)
        except (EOFError, gzip.BadGzipFile, zlib.error, zstandard.ZstdError) as error:
            raise DataError(
                f"the compressed data is damaged or cut off: {error}", path=self.name, remedy="fetch the file again"
            ) from None
        except OSError as error:
            raise DataError(f"cannot be read: {error.strerror or error}", path=self.name) from None
        self._seen += len(block)
        if self._swelling:
            check_swell(self._seen, self._compressed.seen, self.name)
        return block

    def blocks(self, size: int = BLOCK_BYTES) -> Iterator[bytes]:
        """Blocks of whole lines, each ending in a newline; the last line gets one if it has none."""
        rest = b""
        while block := self.read(size):
            cut = block.rfind(b"\n") + 1
            if cut == 0:
                rest += block
                size = min(2 * size, MAX_LINE_BYTES)  # keeps the cost of a long line linear
                if len(rest) > MAX_LINE_BYTES:
                    raise DataError(f"a line is longer than {MAX_LINE_BYTES >> 20} MB", path=self.name)
                continue
            yield rest + block[:cut]
            rest = block[cut:]
        if rest:
            yield rest + b"\n"

    def is_ready(self) -> bool:
        """Whether a read is known to return at once."""
        return bool(self._pushed) or self._compressed.is_ready()

    def blocks_as_they_come(self) -> Iterator[bytes]:
        """Blocks of whole lines like `blocks`; an empty one whenever the next may have to be waited for."""
        parts: list[bytes] = []
        size = 0
        while True:
            if not self.is_ready():
                yield b""
            if not (block := self.read(BLOCK_BYTES)):
                break
            cut = block.rfind(b"\n") + 1
            if cut:
                yield b"".join([*parts, block[:cut]])
                parts, size = [], 0
            parts.append(block[cut:])
            size += len(block) - cut
            if size > MAX_LINE_BYTES:
                raise DataError(f"a line is longer than {MAX_LINE_BYTES >> 20} MB", path=self.name)
        if rest := b"".join(parts):
            yield rest + b"\n"

    def lines(self) -> Iterator[tuple[int, str]]:
        """(number from 1, text without its line end) of each line; broken UTF-8 is an error."""
        number = 0
        for block in self.blocks():
            for line in block.split(b"\n")[:-1]:
                number += 1
                yield number, self.decoded(line, number).removesuffix("\r")

    def decoded(self, line: bytes, number: int) -> str:
        """The line as text; broken UTF-8 is an error."""
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise DataError(
                f"byte {error.start + 1} of the line is not UTF-8",
                path=self.name,
                line=number,
                remedy="save it as UTF-8",
            ) from None

    def read_all(self, limit: int) -> bytes:
        """Everything at once, for small files such as XML."""
        parts, size = [], 0
        while block := self.read(BLOCK_BYTES):
            parts.append(block)
            size += len(block)
            if size > limit:
                raise DataError(f"is larger than {limit >> 20} MB", path=self.name)
        return b"".join(parts)


@contextmanager
def open_stream(path: str | Path, *, live: bool = False) -> Iterator[Stream]:
    """A `Stream` over a file, or over standard input for "-"; live where its reads must not wait for more input."""
    if str(path) == STDIN:
        yield Stream(sys.stdin.buffer, "<stdin>", live=live)
        return
    try:
        raw = Path(path).open("rb", buffering=0)  # noqa: SIM115 - closed below
    except OSError as error:
        raise unreadable(path, error) from None
    except ValueError as error:  # a NUL in the name
        raise DataError(f"cannot be opened: {error}", path=str(path)) from None
    with raw:
        yield Stream(raw, str(path), Path(path).suffix.lower(), live=live)


def unreadable(path: str | Path, error: OSError) -> DataError:
    """The error for a file that cannot be opened."""
    if isinstance(error, FileNotFoundError):
        return DataError("there is no such file", path=path)
    if isinstance(error, IsADirectoryError):
        return DataError("is a folder, not a file", path=path, remedy="name the file in it")
    return DataError(f"cannot be opened: {error.strerror or error}", path=path)


def _size_of(raw: BinaryIO) -> int | None:
    try:
        status = os.fstat(raw.fileno())
    except (OSError, AttributeError):
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _fill(source: Stream | _Counted, size: int) -> bytes:
    """`size` bytes, or all there are; a pipe may hand them over in small pieces."""
    parts = b""
    while len(parts) < size and (block := source.read(size - len(parts))):
        parts += block
    return parts


class _Counted:
    """Knows how many (compressed) bytes have gone through. live: a read returns what is there, if only one byte."""

    def __init__(self, raw: BinaryIO, *, live: bool = False) -> None:
        self._raw = raw
        self._read: Callable[[int], bytes] = getattr(raw, "read1", raw.read) if live else raw.read
        self.seen = 0

    def read(self, size: int) -> bytes:
        block = self._read(size) or b""
        self.seen += len(block)
        return block

    def is_ready(self) -> bool:
        try:
            return bool(select.select([self._raw], [], [], 0)[0])
        except (OSError, ValueError, TypeError):  # no file of the system, or one that cannot be asked
            return False


class _Chained(io.RawIOBase):
    """`head`, then the rest."""

    def __init__(self, head: bytes, rest: _Counted) -> None:
        self._head, self._rest = head, rest

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if self._head:
            taken, self._head = self._head[:size], self._head[size:]
            return taken
        return self._rest.read(size)


class _Zstd:
    """Zstandard frames, a little at a time: 1 KB in gives at most 32 MB out."""

    def __init__(self, source: Callable[[int], bytes]) -> None:
        self._source = source
        self._ready = io.BytesIO()
        self._frame: zstandard.ZstdDecompressionObj | None = None

    def read(self, size: int) -> bytes:
        while not (taken := self._ready.read(size)):
            block = self._source(1 << 10)
            if not block:
                if self._frame is not None:
                    raise EOFError("the last frame does not end")
                return b""
            self._ready = io.BytesIO(self._decompress(block))
        return taken

    def _decompress(self, block: bytes) -> bytes:
        out = []
        while block:
            if self._frame is None:
                self._frame = zstandard.ZstdDecompressor(max_window_size=1 << 27).decompressobj()
            out.append(self._frame.decompress(block))
            block = b""
            if self._frame.eof:
                block, self._frame = self._frame.unused_data, None
        return b"".join(out)
