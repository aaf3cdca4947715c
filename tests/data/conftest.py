"""One small good file in each format, and a way to put a file into the test's folder."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

XML = b'<?xml version="1.0"?><labels xmlns="http://mulan.sourceforge.net/labels">'
XML += b'<label name="a"/><label name="b"/></labels>'
ARFF = (
    b"% a remark\n@relation m\n@attribute f numeric\n@attribute 'g h' {0,1}\n@attribute a {0,1}\n@attribute b {0,1}\n"
    b"@data\n{0 1.5,3 1}\n0,1,1,1\n{}\n"
)


def npz(matrix: sp.spmatrix) -> bytes:
    buffer = io.BytesIO()
    sp.save_npz(buffer, matrix)
    return buffer.getvalue()


def parquet() -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table({"text": ["one", "two"], "labels": [["a"], ["a", "b"]], "id": [1, 2]}), buffer)
    return buffer.getvalue()


@pytest.fixture(scope="session")
def good_files() -> dict[str, bytes]:
    return {
        "old.txt": b"4 6 3\n0,2 0:1 4:0.5\n1 5:2.5e-1\n 3:1\n2\n",
        "trn_X_Xf.txt": b"3 4\n0:1.5 2:1\n\n3:1\n",
        "trn_X_Y.txt": b"3 2\n0:1\n0:1 1:1\n\n",
        "rows.svm": b"1,3 0:1 4:2 # remark\n# nothing\n\n 5:1\n2\n",
        "m.arff": ARFF,
        "m.xml": XML,
        "rows.jsonl": b'{"id": "1", "text": "\xc3\xa9t\xc3\xa9", "labels": ["a", "b"]}\n\n'
        b'{"id": 2, "text": "", "labels": []}\n',
        "rows.csv": b'id,text,labels\n1,"one, two",a|b\n2,"three\nlines",\n',
        "rows.tsv": b"text\ttags\none\ta;b\ntwo\tb\n",
        "ft.txt": b"__label__a __label__b one two\nthree\n",
        "X.npz": npz(sp.csr_matrix(np.array([[1, 0, 2.5], [0, 0, 0]], dtype=np.float32))),
        "Y.npz": npz(sp.csr_matrix(np.array([[1, 1], [0, 1]], dtype=np.float32))),
        "rows.parquet": parquet(),
    }


Put = Callable[[str, "bytes | str"], Path]


@pytest.fixture
def put(tmp_path: Path) -> Put:
    """put(name, content) -> the path of the new file."""

    def write(name: str, content: bytes | str) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


@pytest.fixture
def good(tmp_path: Path, good_files: dict[str, bytes], put: Put) -> Path:
    """A folder with all of them."""
    for name, content in good_files.items():
        put(name, content)
    return tmp_path
