"""Arrays in a file: what the format's own library writes and reads, and files that are not what they say."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from zipfel.system.tensors import read_tensors, write_tensors

ARRAYS: dict[str, Any] = {
    "bytes": np.arange(5, dtype=np.int8),
    "half": np.array([0.5, -1], dtype=np.float16),
    "matrix": np.arange(6, dtype=np.float32).reshape(2, 3),
    "double": np.array([1e300]),
    "ids": np.array([-1, 2**40]),
    "flags": np.array([True, False]),
    "none": np.zeros((0, 4), dtype=np.uint16),
    "scalar": np.array(3, dtype=np.uint8),
}


def written(arrays: dict[str, Any], facts: dict[str, str] | None = None) -> bytes:
    file = io.BytesIO()
    write_tensors(file, arrays, facts)
    return file.getvalue()


def read(data: bytes) -> tuple[dict[str, Any], dict[str, str]]:
    return read_tensors(io.BytesIO(data), len(data))


def assert_equal(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert set(found) == set(expected)
    for name, array in expected.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


def test_round_trip() -> None:
    found, facts = read(written(ARRAYS, {"by": "me"}))
    assert_equal(found, ARRAYS)
    assert facts == {"by": "me"}
    assert all(array.flags.writeable for array in found.values())


def test_the_formats_own_library_reads_and_writes_the_same() -> None:
    assert_equal(safetensors.numpy.load(written(ARRAYS)), ARRAYS)
    assert_equal(read(safetensors.numpy.save(ARRAYS))[0], ARRAYS)


def test_rows_that_lie_apart_and_columns_are_written_in_order() -> None:
    matrix = np.arange(12, dtype=np.float32).reshape(3, 4)
    arrays = {"rows": matrix[::2], "columns": matrix[:, ::-1], "other end": matrix.astype(">f4"), "turned": matrix.T}
    found, _ = read(written(arrays))
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)


def crafted(entry: Any, body: bytes = b"\0" * 8) -> bytes:
    text = json.dumps({"a": entry}).encode()
    return len(text).to_bytes(8, "little") + text + body


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff" * 8,
        b"\x02" + b"\0" * 7 + b"[]",
        (200_000).to_bytes(8, "little") + b"[" * 200_000,
        crafted({"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}),
        crafted({"dtype": "F32", "shape": [-2], "data_offsets": [0, -8]}),
        crafted({"dtype": "F32", "shape": [10**9], "data_offsets": [0, 4 * 10**9]}),
        crafted({"dtype": "F32", "shape": [2**62, 0], "data_offsets": [0, 0]}),
        crafted({"dtype": "F32", "shape": [10**30, 0], "data_offsets": [0, 0]}, b""),
        crafted({"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}, b"\0" * 9),
        crafted({"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}),
        crafted({"dtype": "O", "shape": [1], "data_offsets": [0, 8]}),
        crafted({"dtype": "F32", "shape": 2, "data_offsets": [0, 8]}),
        crafted({"dtype": "F32", "shape": [2.0], "data_offsets": [0, 8]}),
        crafted({"dtype": "F32", "shape": [True, 2], "data_offsets": [0, 8]}),
        crafted([]),
    ],
)
def test_a_file_that_is_not_what_it_says_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"its header|the array|left over|Expecting"):
        read(data)


def test_every_cut_is_noticed() -> None:
    data = written({"a": np.arange(3, dtype=np.int32)})
    for end in range(len(data)):
        with pytest.raises(ValueError, match="the"):
            read(data[:end])
