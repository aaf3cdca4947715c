"""Packed data are what the file says; they are checked when they are opened."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest

from tests.data.conftest import Put
from zipfel.data import Dataset, check_packed, chunks, is_packed, open_packed, pack, read, read_documents
from zipfel.data.packed import DTYPES, MANIFEST, digest_json, release
from zipfel.errors import DataError

FILES = [
    "old.txt", "trn_X_Xf.txt", "rows.svm", "m.arff", "rows.jsonl", "rows.csv", "rows.tsv", "ft.txt", "X.npz",
    "rows.parquet",
]  # fmt: skip


def assert_same(found: Dataset, expected: Dataset) -> None:
    assert found.fingerprint() == expected.fingerprint()
    assert (found.name, found.report, found.n_points) == (expected.name, expected.report, expected.n_points)
    for names in ("texts", "ids", "label_names", "feature_names", "lines"):
        one, two = getattr(found, names), getattr(expected, names)
        assert (one is None) == (two is None), names
        assert one is None or list(one) == list(two), names


@pytest.mark.parametrize("name", FILES)
def test_gives_what_the_file_gives(name: str, good: Path, tmp_path: Path) -> None:
    pack(good / name, tmp_path / "packed")
    assert_same(read(tmp_path / "packed"), read(good / name))


def test_files_of_names_beside_are_picked_up(put: Put, tmp_path: Path) -> None:
    file = put("rows.txt", "2 2 2\n0 0:1\n1 1:1\n")
    put("labels.txt", "one\ntwo\n")
    put("features.txt", "red\nblue\n")
    packed = pack(file, tmp_path / "packed")
    assert packed.label_names == ["one", "two"]
    assert packed.feature_names == ["red", "blue"]


def test_documents_without_labels(put: Put, tmp_path: Path) -> None:
    file = put("lines.txt", "one\n\ntwo\n")
    pack(file, tmp_path / "packed", need_labels=False)
    assert_same(read_documents(tmp_path / "packed"), read_documents(file))


def test_texts_are_read_one_by_one(put: Put, tmp_path: Path) -> None:
    texts = pack(put("a.jsonl", '{"text": "é", "labels": []}\n{"text": "two", "labels": []}\n'), tmp_path / "p").texts
    assert texts is not None
    assert (texts[1], texts[-2], texts[0:2], len(texts)) == ("two", "é", ["é", "two"], 2)
    with pytest.raises(IndexError):
        texts[2]
    assert list(pickle.loads(pickle.dumps(texts))) == ["é", "two"]


@pytest.fixture
def packed(good: Path, tmp_path: Path) -> Path:
    pack(good / "rows.svm", tmp_path / "packed")
    return tmp_path / "packed"


def test_a_folder_of_something_else_is_no_packed_data(good: Path) -> None:
    assert not is_packed(good)
    with pytest.raises(DataError, match="folder"):
        read(good)


@pytest.mark.parametrize("name", ["labels.indices", "features.indptr", "features.values"])
def test_a_file_that_was_cut_off_or_lost_is_refused(packed: Path, name: str) -> None:
    whole = (packed / name).read_bytes()
    (packed / name).write_bytes(whole[:-1])
    with pytest.raises(DataError, match="bytes"):
        open_packed(packed)
    (packed / name).unlink()
    with pytest.raises(DataError, match="missing"):
        open_packed(packed)


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("labels.indices", 0, 99), ("labels.indices", 0, -1), ("labels.indptr", 1, 99), ("labels.indptr", 0, 1),
        ("features.indices", 0, 4), ("features.values", 0, np.nan), ("labels.values", 0, 2),
    ],
)  # fmt: skip
def test_arrays_that_do_not_fit_are_refused(packed: Path, name: str, place: int, value: float) -> None:
    array = np.fromfile(packed / name, dtype=DTYPES[name])
    array[place] = value
    array.tofile(packed / name)
    with pytest.raises(DataError, match=r"damaged|ones"):
        open_packed(packed)


def test_a_changed_value_is_found_by_its_checksum(packed: Path) -> None:
    array = np.fromfile(packed / "features.values", dtype="<f4")
    array[0] += 1
    array.tofile(packed / "features.values")
    open_packed(packed)
    with pytest.raises(DataError, match="checksum"):
        check_packed(packed)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("n_points", -1), ("n_labels", "9"), ("n_labels", 10**9), ("files", {"../evil": {"bytes": 0}}),
        ("report", {"x": 1}), ("format_version", 2), ("format", "other"),
    ],
)  # fmt: skip
def test_a_manifest_that_makes_no_sense_is_refused(packed: Path, key: str, value: object) -> None:
    manifest = json.loads((packed / MANIFEST).read_text())
    del manifest["checksum"]
    manifest[key] = value
    (packed / MANIFEST).write_text(json.dumps({**manifest, "checksum": digest_json(manifest)}))
    with pytest.raises(DataError):
        open_packed(packed)


def test_texts_that_are_not_utf8_are_refused(put: Put, tmp_path: Path) -> None:
    packed = pack(put("a.jsonl", '{"text": "ab", "labels": []}\n'), tmp_path / "p")
    (tmp_path / "p" / "texts.utf8").write_bytes(b"\xff\xff")
    assert packed.texts is not None
    with pytest.raises(DataError, match="UTF-8"):
        packed.texts[0]


def test_documents_come_in_chunks(put: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 2)
    rows = "".join(f'{{"id": "d{i}", "text": "text {i}", "labels": ["a"]}}\n' for i in range(5))
    pack(put("a.jsonl", rows), tmp_path / "packed")
    found = list(chunks.read_chunks(tmp_path / "packed"))
    assert [list(chunk.ids) for chunk in found] == [["d0", "d1"], ["d2", "d3"], ["d4"]]
    assert found[2].documents.texts == ["text 4"]


def test_memory_of_a_mapped_array_can_be_given_back(tmp_path: Path) -> None:
    np.arange(1 << 20, dtype=np.int64).tofile(tmp_path / "numbers")
    mapped = np.asarray(np.memmap(tmp_path / "numbers", dtype=np.int64, mode="c"))
    total, before = int(mapped.sum()), _mapped_memory()
    release(mapped[5:])
    assert before - _mapped_memory() > 6 << 20
    assert int(mapped.sum()) == total
    release(np.arange(3))


def _mapped_memory() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("RssFile"))


def test_runs_are_the_whole(put: Put, tmp_path: Path) -> None:
    packed = pack(put("lines.txt", "one\ntwo\nthree\n"), tmp_path / "packed", need_labels=False)
    assert [run.texts for run in packed.runs(2)] == [["one", "two"], ["three"]]
