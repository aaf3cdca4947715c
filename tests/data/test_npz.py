from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.data import read, read_documents
from zipfel.errors import DataError

EYE = {
    "format": np.array("csr"),
    "shape": np.array([3, 3]),
    "indptr": np.array([0, 1, 2, 3]),
    "indices": np.array([0, 1, 2]),
    "data": np.ones(3),
}


def npz(**arrays: Any) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def test_a_pair(good: Path) -> None:
    dataset = read(good / "X.npz")
    assert dataset.X is not None
    assert dataset.X.toarray().tolist() == [[1, 0, 2.5], [0, 0, 0]]
    assert dataset.Y.toarray().tolist() == [[1, 1], [0, 1]]


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_every_kind_of_matrix(put, tmp_path: Path, kind: str) -> None:
    X = sp.random(9, 7, 0.4, random_state=0)
    sp.save_npz(tmp_path / "X.npz", X.asformat(kind))
    sp.save_npz(tmp_path / "L.npz", sp.eye(9, 4).asformat(kind))
    dataset = read(tmp_path / "X.npz", labels=tmp_path / "L.npz")
    assert dataset.X is not None
    np.testing.assert_array_equal(dataset.X.toarray(), X.toarray().astype(np.float32))
    assert dataset.Y.toarray().tolist() == np.eye(9, 4).tolist()


def test_duplicates_are_summed(put) -> None:
    rows = {"row": np.array([0, 0, 1]), "col": np.array([1, 1, 0]), "data": np.array([1.0, 2.0, 1.0])}
    path = put("a.npz", npz(format=np.array("coo"), shape=np.array([2, 2]), **rows))
    dataset = read_documents(path)
    assert dataset.X is not None
    assert dataset.X.toarray().tolist() == [[0, 3], [1, 0]]
    assert dataset.report.duplicate_features == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"indices": np.array([0, 1, 3])}, "out of range"),
        ({"indices": np.array([0, -1, 2])}, "out of range"),
        ({"indptr": np.array([0, 2, 1, 3])}, "contradict"),
        ({"indptr": np.array([0, 1, 3])}, "contradict"),
        ({"indices": np.array([0, 1])}, "contradict"),
        ({"indices": np.array([0.0, 1.0, 2.0])}, "whole numbers"),
        ({"data": np.array([1, np.nan, 1])}, "nan"),
        ({"data": np.array([1, 1e300, 1])}, "nan, inf or numbers"),
        ({"data": np.array(["a", "b", "c"])}, "must be numbers"),
        ({"format": np.array("bsr")}, "not one of"),
        ({"shape": np.array([3, 10**15])}, "beyond"),
        ({"shape": np.array([3])}, "not a sound"),
    ],
)
def test_broken_arrays(put, change: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=r"b\.npz: .*" + message):
        read_documents(put("b.npz", npz(**{**EYE, **change})))


def test_pickles_are_refused(put) -> None:
    with pytest.raises(DataError, match="promises more than it holds"):
        read_documents(put("b.npz", npz(**{**EYE, "data": np.array([object()] * 3)})))


def test_a_header_that_promises_too_much(put) -> None:
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "<f8", "fortran_order": False, "shape": (10**12,)})
    packed = io.BytesIO(npz(**EYE))
    with zipfile.ZipFile(packed) as old, zipfile.ZipFile(out := io.BytesIO(), "w") as new:
        for name in old.namelist():
            new.writestr(name, buffer.getvalue() if name == "data.npy" else old.read(name))
    with pytest.raises(DataError, match="promises more than it holds"):
        read_documents(put("b.npz", out.getvalue()))


def test_other_files(put, good: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not a sound"):
        read_documents(put("b.npz", b"PK\x03\x04 and nothing more"))
    with pytest.raises(DataError, match=r"there is no c_Y\.npz beside it"):
        read(put("c.npz", npz(**EYE)))
    with pytest.raises(DataError, match="has 2 rows but"):
        read(tmp_path / "c.npz", labels=good / "Y.npz")
    with pytest.raises(DataError, match=r"gone\.npz: there is no such file"):
        read(tmp_path / "c.npz", labels=tmp_path / "gone.npz")
