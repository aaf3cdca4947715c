"""Files with random damage: a reader returns a data set or raises DataError, and nothing else."""

from __future__ import annotations

import gzip
import warnings
from pathlib import Path

import numpy as np
import pytest
import zstandard

from zipfel.data import Dataset, read, read_documents
from zipfel.errors import DataError

NAMES = ["old.txt", "trn_X_Xf.txt", "trn_X_Y.txt", "rows.svm", "m.arff", "m.xml", "rows.jsonl", "rows.csv", "rows.tsv"]
NAMES += ["ft.txt", "X.npz", "rows.parquet", "old.txt.gz", "old.txt.zst"]
FIRST = {"trn_X_Y.txt": "trn_X_Xf.txt", "m.xml": "m.arff"}  # which file to read when the second one is damaged
BYTES = b'0123456789 ,:.-e\n\t\r#"{}[]\\\0\xff\xc3nan@%<>&;|'


def damaged(content: bytes, rng: np.random.Generator) -> bytes:
    """One to four bytes changed, dropped or put in, or the end cut off."""
    data = bytearray(content)
    for _ in range(rng.integers(1, 5)):
        at, byte = int(rng.integers(0, len(data) + 1)), BYTES[rng.integers(0, len(BYTES))]
        kind = rng.integers(0, 5)
        if kind == 0:
            data[at : at + 1] = bytes([byte])
        elif kind == 1:
            del data[at : at + int(rng.integers(1, 4))]
        elif kind == 2:
            data[at:at] = bytes([byte]) * int(rng.integers(1, 30))
        elif kind == 3:
            data[at:at] = data[int(rng.integers(0, len(data) + 1)) :][:20]
        elif rng.random() < 0.3:
            del data[at:]
    return bytes(data)


@pytest.mark.parametrize("name", NAMES)
def test_damage_gives_a_data_set_or_a_data_error(good: Path, good_files: dict[str, bytes], name: str) -> None:
    rng = np.random.default_rng(len(name))
    content = good_files[name.removesuffix(".gz").removesuffix(".zst")]
    if name.endswith(".gz"):
        content = gzip.compress(content)
    elif name.endswith(".zst"):
        content = zstandard.compress(content)
    path = good / FIRST.get(name, name)
    refused = 0
    for _ in range(120):
        (good / name).write_bytes(damaged(content, rng))
        for reader in (read, read_documents):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                try:
                    check(reader(path))
                except DataError as error:
                    refused += str(path.parent) in str(error)  # an error that does not name its file does not count
    assert refused > 20


def check(dataset: Dataset) -> None:
    for matrix in (dataset.X, dataset.Y):
        if matrix is not None:
            matrix.check_format(full_check=True)
            assert matrix.dtype == np.float32
            assert np.isfinite(matrix.data).all()
            assert matrix.has_canonical_format
