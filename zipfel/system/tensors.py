"""Named arrays in one file, in the safetensors format (https://github.com/huggingface/safetensors).

A file is 8 bytes (the header's length, little-endian), the header in JSON, and the arrays' bytes. Reader and writer
take an open file. The caller chooses the place and may compute a checksum.

>>> import io, numpy as np
>>> file = io.BytesIO()
>>> write_tensors(file, {"a": np.arange(3, dtype=np.int32)})
>>> length = file.seek(0, 2); _ = file.seek(0)
>>> read_tensors(file, length)[0]["a"].tolist()
[0, 1, 2]
"""

from __future__ import annotations

import hashlib
import json
import math
import mmap
import os
from collections.abc import Mapping
from io import BufferedReader
from pathlib import Path
from typing import Any, Protocol, TypeGuard

import numpy as np
import numpy.typing as npt

Arrays = dict[str, npt.NDArray[Any]]
MAX_HEADER_BYTES = 100 << 20
"""The limit of the format's own reader."""
_PIECE = 64 << 20
_DTYPES = {
    "BOOL": "|b1", "U8": "|u1", "I8": "|i1", "U16": "<u2", "I16": "<i2", "U32": "<u4", "I32": "<i4", "U64": "<u8",
    "I64": "<i8", "F16": "<f2", "F32": "<f4", "F64": "<f8",
}  # fmt: skip
_CODES = {np.dtype(text): code for code, text in _DTYPES.items()}


class Sink(Protocol):
    """Whatever takes bytes: an open file, or one that also computes a checksum."""

    def write(self, data: Any, /) -> Any: ...


class Source(Protocol):
    """Whatever gives bytes: an open file, or one that also computes a checksum."""

    def read(self, size: int, /) -> bytes: ...

    def readinto(self, buffer: Any, /) -> int: ...


def write_tensors(file: Sink, arrays: Mapping[str, npt.NDArray[Any]], facts: Mapping[str, str] | None = None) -> None:
    """Arrays of large items come first, so that every array starts at a multiple of its item's size."""
    packed = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    packed = {name: array.astype(array.dtype.newbyteorder("<"), copy=False) for name, array in packed.items()}
    order = sorted(packed, key=lambda name: (-packed[name].dtype.itemsize, name))
    header: dict[str, Any] = {"__metadata__": dict(facts)} if facts else {}
    place = 0
    for name in order:
        array = packed[name]
        end = place + array.nbytes
        header[name] = {"dtype": _CODES[array.dtype], "shape": list(array.shape), "data_offsets": [place, end]}
        place = end
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    file.write(len(text).to_bytes(8, "little"))
    file.write(text)
    for name in order:
        flat = packed[name].reshape(-1).view(np.uint8)
        for start in range(0, len(flat), _PIECE):
            file.write(flat[start : start + _PIECE].data)


def read_tensors(file: Source, size: int) -> tuple[Arrays, dict[str, str]]:
    """The arrays and the facts of an open file of `size` bytes; ValueError where it is not of the format.

    The header is checked against the size before memory is taken, so that a small file can't ask for much.
    """
    places, facts = _places(file, size)
    arrays = {}
    for name, _, dtype, shape in sorted(places, key=lambda place: place[1]):
        array = np.empty(shape, dtype=dtype)
        _fill(file, array.reshape(-1).view(np.uint8))
        arrays[name] = array
    return {name: arrays[name] for name, *_ in places}, facts


def map_tensors(file: BufferedReader, size: int) -> Arrays:
    """The arrays of an open file of `size` bytes, mapped into memory: a page is read when it is first looked at, and
    written pages are the process's own. ValueError where it is not of the format. The file may be closed and removed
    afterwards, but must not be cut."""
    places, _ = _places(file, size)
    mapped = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY)
    found = {}
    for name, begin, dtype, shape in places:
        array = np.frombuffer(mapped, dtype=np.uint8, count=math.prod(shape) * dtype.itemsize, offset=begin)
        if begin % dtype.itemsize:  # of a file by another program
            array = array.copy()
        found[name] = array.view(dtype).reshape(shape)
    return found


_Place = tuple[str, int, np.dtype[Any], tuple[int, ...]]


def _places(file: Source, size: int) -> tuple[list[_Place], dict[str, str]]:
    """(name, where in the file, dtype, shape) of the arrays in the header's order, and the facts: checked, so that the
    arrays fill the file."""
    header, start = _read_header(file, size)
    facts = header.pop("__metadata__", {})
    entries = {name: _entry(name, entry) for name, entry in header.items()}
    end = 0
    for name, (begin, end_of_this, *_) in sorted(entries.items(), key=lambda item: item[1][:2]):
        if begin != end:
            raise ValueError(f"the array {name!r:.60} does not begin where the one before it ends")
        end = end_of_this
        if start + end > size:
            raise ValueError(f"the array {name!r:.60} ends behind the end of the file")
    if start + end != size:
        raise ValueError(f"{size - start - end} bytes are left over behind the arrays")
    places = [(name, start + begin, dtype, shape) for name, (begin, _, dtype, shape) in entries.items()]
    return places, {str(k): str(v) for k, v in facts.items()}


def _read_header(file: Source, size: int) -> tuple[dict[str, Any], int]:
    length = int.from_bytes(file.read(8), "little")
    if size < 8 or length > min(size - 8, MAX_HEADER_BYTES):
        raise ValueError("its header is longer than the file")
    try:
        header = json.loads(file.read(length))
    except RecursionError:
        raise ValueError("its header is nested too deeply") from None
    if not isinstance(header, dict) or not isinstance(header.get("__metadata__", {}), dict):
        raise ValueError("its header is no JSON object")
    return header, 8 + length


def _entry(name: str, entry: Any) -> tuple[int, int, np.dtype[Any], tuple[int, ...]]:
    """(begin, end, dtype, shape) of an array, checked to agree."""
    if not isinstance(entry, dict) or entry.get("dtype") not in _DTYPES:
        raise ValueError(f"the array {name!r:.60} has no dtype that zipfel knows")
    shape, offsets = entry.get("shape"), entry.get("data_offsets")
    if not _whole_numbers(shape) or not _whole_numbers(offsets) or len(offsets) != 2 or len(shape) > 8:
        raise ValueError(f"the array {name!r:.60} has no proper shape and place")
    dtype = np.dtype(_DTYPES[entry["dtype"]])
    room = math.prod(size or 1 for size in shape) * dtype.itemsize  # numpy has a limit even where a size is 0
    if offsets[1] - offsets[0] != math.prod(shape) * dtype.itemsize or room > 2**62:
        raise ValueError(f"the array {name!r:.60} has a shape {shape!r:.60} that does not fit its bytes")
    return offsets[0], offsets[1], dtype, tuple(shape)


def _whole_numbers(value: Any) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(type(number) is int and number >= 0 for number in value)


def _fill(file: Source, flat: npt.NDArray[np.uint8]) -> None:
    for start in range(0, len(flat), _PIECE):
        piece = flat[start : start + _PIECE]
        if file.readinto(piece.data) != len(piece):
            raise ValueError("the file is shorter than it was")


CHECKSUM_BYTES = 32


class _Summing:
    """Passes bytes on, and adds them to a checksum."""

    def __init__(self, file: Any) -> None:
        self._file, self.digest = file, hashlib.sha256()

    def write(self, data: Any, /) -> Any:
        self.digest.update(data)
        return self._file.write(data)

    def read(self, size: int, /) -> bytes:
        data: bytes = self._file.read(size)
        self.digest.update(data)
        return data

    def readinto(self, buffer: Any, /) -> int:
        count: int = self._file.readinto(buffer)
        self.digest.update(buffer[:count])
        return count


def write_summed(path: Path, arrays: Mapping[str, npt.NDArray[Any]], facts: Mapping[str, str] | None = None) -> None:
    """`write_tensors`, and the content's SHA-256 behind it; all of it is on the disk when this returns."""
    with path.open("xb") as file:
        summing = _Summing(file)
        write_tensors(summing, arrays, facts)
        file.write(summing.digest.digest())
        file.flush()
        os.fsync(file.fileno())


def read_summed(path: Path) -> tuple[Arrays, dict[str, str]]:
    """The counterpart of `write_summed`; ValueError where a bit is not as it was written."""
    with path.open("rb") as file:
        summing = _Summing(file)
        found = read_tensors(summing, os.fstat(file.fileno()).st_size - CHECKSUM_BYTES)
        if file.read() != summing.digest.digest():
            raise ValueError("its checksum does not match")
        return found
