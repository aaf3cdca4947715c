from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from zipfel.data import read, read_documents
from zipfel.errors import DataError, MissingExtraError


def test_lists_of_labels(good: Path) -> None:
    dataset = read(good / "rows.parquet")
    assert (dataset.texts, dataset.ids, dataset.label_names) == (["one", "two"], ["1", "2"], ["a", "b"])
    assert dataset.Y.toarray().tolist() == [[1, 0], [1, 1]]


def test_labels_as_text_and_nulls(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["one", None], "tags": ["a;b", None]}), tmp_path / "t.parquet")
    dataset = read(tmp_path / "t.parquet")
    assert (dataset.texts, dataset.label_names) == (["one", ""], ["a", "b"])


def test_broken_files(put, good: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"b\.parquet: is not a sound Parquet file"):
        read(put("b.parquet", (good / "rows.parquet").read_bytes()[:200]))
    pq.write_table(pa.table({"text": [1.5], "labels": [["a"]]}), tmp_path / "n.parquet")
    with pytest.raises(DataError, match="the text of row 0 is float"):
        read(tmp_path / "n.parquet")
    pq.write_table(pa.table({"text": ["a"], "labels": [[0.5]]}), tmp_path / "l.parquet")
    with pytest.raises(DataError, match="the labels of row 0"):
        read(tmp_path / "l.parquet")
    pq.write_table(pa.table({"text": ["a"]}), tmp_path / "m.parquet")
    with pytest.raises(DataError, match="there is no labels column"):
        read(tmp_path / "m.parquet")
    assert read_documents(tmp_path / "m.parquet").texts == ["a"]


def test_the_extra_is_named(good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingExtraError, match=r"zipfel\[parquet\]"):
        read(good / "rows.parquet")
