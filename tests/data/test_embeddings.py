"""Embeddings in .npy files, read and checked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from zipfel.data.embeddings import checked_embeddings, read_embeddings
from zipfel.errors import DataError


def test_a_file_stays_where_it_is(tmp_path: Path) -> None:
    rows = np.arange(6, dtype=np.float16).reshape(3, 2)
    np.save(tmp_path / "rows.npy", rows)
    found = read_embeddings(tmp_path / "rows.npy")
    assert isinstance(found, np.memmap)
    np.testing.assert_array_equal(found, rows)


def test_bad_files_are_refused_in_words(tmp_path: Path) -> None:
    file = tmp_path / "bad.npy"
    np.save(file, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match="no sound"):
        read_embeddings(file)
    np.save(file, np.ones((4, 4)))
    file.write_bytes(file.read_bytes()[:-8])
    with pytest.raises(DataError, match="no sound"):
        read_embeddings(file)
    file.write_bytes(b"\x93NUMPY\x01\x00\xff\xff{'descr'")
    with pytest.raises(DataError, match="no sound"):
        read_embeddings(file)
    for content in (b"", b"0.5 0.25\n", b"PK\x03\x04"):
        file.write_bytes(content)
        with pytest.raises(DataError, match=r"bad.npy: is no .npy file"):
            read_embeddings(file)
    with pytest.raises(DataError, match="cannot be read"):
        read_embeddings(tmp_path / "none.npy")


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (np.ones(3), "shape"),
        (np.ones((2, 0)), "shape"),
        (np.array([["a"]]), "array of numbers"),
        (np.ones((2, 2), dtype=complex), "array of numbers"),
        ([[1.0], [1.0, 2.0]], "array of numbers"),
        (np.array([[1.0], [np.inf]]), "row 1"),
        (np.array([[1.0], [1e300]]), "row 1"),
    ],
)
def test_other_arrays_are_refused(rows: object, words: str) -> None:
    with pytest.raises(DataError, match=words):
        checked_embeddings(rows)
