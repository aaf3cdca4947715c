from __future__ import annotations

import gzip
import io
import sys
import zlib
from pathlib import Path

import pytest
import zstandard

from zipfel.data import limits, read, read_documents, streams
from zipfel.data.streams import Stream, bare_suffix, open_stream
from zipfel.errors import DataError

ROWS = b"2 5 4\n0 1:1\n1 2:1\n"


@pytest.mark.parametrize("name", ["a.txt.gz", "a.gz", "plain-name"])
def test_gzip_is_known_by_its_content(put, name: str) -> None:
    assert read(put(name, gzip.compress(ROWS))).n_points == 2


def test_zstandard_and_several_members(put) -> None:
    assert read(put("a.txt.zst", zstandard.compress(ROWS))).n_points == 2
    assert read(put("b.txt.zst", zstandard.compress(ROWS[:9]) + zstandard.compress(ROWS[9:]))).n_points == 2
    assert read(put("b.txt.gz", gzip.compress(ROWS[:9]) + gzip.compress(ROWS[9:]))).n_points == 2


@pytest.mark.parametrize("cut", [1, 5, 9, 20])
@pytest.mark.parametrize("kind", ["gz", "zst"])
def test_cut_off_files(put, kind: str, cut: int) -> None:
    packed = gzip.compress(ROWS * 50) if kind == "gz" else zstandard.compress(ROWS * 50)
    with pytest.raises(DataError, match=rf"a\.txt\.{kind}: the compressed data is damaged or cut off"):
        read(put(f"a.txt.{kind}", packed[:-cut]), format="text")


def test_damaged_files(put) -> None:
    packed = bytearray(gzip.compress(ROWS))
    packed[-6] ^= 0xFF  # the check sum
    with pytest.raises(DataError, match="damaged"):
        read(put("a.txt.gz", bytes(packed)))
    with pytest.raises(DataError, match=r"gz\.txt\.gz: the name ends in \.gz but the content is not gzip"):
        read(put("gz.txt.gz", b"not gzip"))
    with pytest.raises(DataError, match="is not zstandard"):
        read(put("z.txt.zst", gzip.compress(ROWS)))


@pytest.mark.parametrize("kind", ["gz", "zst"])
def test_bombs_are_not_unpacked(put, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(limits, "FREE_BYTES", 1 << 20)
    bomb = ROWS + b"\n" * (8 << 20)
    packed = gzip.compress(bomb) if kind == "gz" else zstandard.compress(bomb)
    with pytest.raises(DataError, match="swells to more than 200 times"):
        read(put(f"a.txt.{kind}", packed))


def test_a_line_without_end(put, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "MAX_LINE_BYTES", 1 << 18)
    with pytest.raises(DataError, match="a line is longer"):
        read_documents(put("a.txt", b"x" * (1 << 21)))


def test_blocks_hold_whole_lines() -> None:
    content = b"".join(b"x" * (i % 50) + b"\n" for i in range(500)) + b"no newline"
    for size in (1, 7, 64, 1 << 20):
        blocks = list(Stream(io.BytesIO(content), "x").blocks(size))
        assert b"".join(blocks) == content + b"\n"
        assert all(block.endswith(b"\n") for block in blocks)


def test_lines_are_numbered_and_decoded() -> None:
    stream = Stream(io.BytesIO(b"\xef\xbb\xbfa\r\n\n\xc3\xa9"), "x")
    assert list(stream.lines()) == [(1, "a"), (2, ""), (3, "é")]


class Trickle(io.RawIOBase):
    """A pipe that hands over a byte at a time."""

    def __init__(self, content: bytes) -> None:
        self._content = io.BytesIO(content)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        return self._content.read(min(1, size))


def test_a_slow_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer = Trickle(gzip.compress(ROWS))

    monkeypatch.setattr(sys, "stdin", Stdin())
    assert read("-").n_points == 2


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gone\.txt: there is no such file"):
        read(tmp_path / "gone.txt")
    with pytest.raises(DataError, match="is a folder"):
        read(tmp_path)
    with pytest.raises(DataError, match="cannot be opened"), open_stream("a\0b"):
        pass


def test_suffixes() -> None:
    assert [bare_suffix(name) for name in ("a.JSONL.gz", "b.txt", "c.zst", "d")] == [".jsonl", ".txt", "", ""]


def test_headers_of_gzip_alone(put) -> None:
    with pytest.raises(DataError, match="damaged"):
        read(put("a.gz", b"\x1f\x8b"))
    with pytest.raises(DataError, match="damaged"):
        read(put("b.gz", b"\x1f\x8b" + zlib.compress(ROWS)))
