from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from zipfel.bench.sources import Source, find_source, find_sources, label_counts, prepare
from zipfel.data import pack
from zipfel.errors import DataError, ParameterError


def write_pair(folder: Path) -> None:
    (folder / "train.txt").write_text("3 3 2\n0 0:1 1:1\n1 2:4\n0,1 0:2\n")
    (folder / "test.txt").write_text("2 3 2\n1 2:1\n 0:1\n")


def test_ready_made_rows_come_before_raw_text(tmp_path: Path) -> None:
    for name in ("train.jsonl.gz", "train.txt.gz", "train.notes", "test.jsonl"):
        (tmp_path / name).touch()
    source = find_source(str(tmp_path))
    assert source == Source(tmp_path.name, (tmp_path / "train.txt.gz", tmp_path / "test.jsonl"))


def test_packed_data_come_first(tmp_path: Path) -> None:
    write_pair(tmp_path)
    for part in ("train", "test"):
        pack(tmp_path / f"{part}.txt", tmp_path / f"{part}.packed")
    source = find_source(str(tmp_path))
    assert source == Source(tmp_path.name, (tmp_path / "train.packed", tmp_path / "test.packed"))
    assert find_source(f"{tmp_path / 'train.packed'},{tmp_path / 'test.packed'}") == source
    made = prepare(source, tmp_path / "one", "l2", 1)
    other = prepare(Source(tmp_path.name, (tmp_path / "train.txt", tmp_path / "test.txt")), tmp_path / "two", "l2", 1)
    assert made.fingerprint == other.fingerprint


def test_pairs_and_bundled_data(tmp_path: Path) -> None:
    write_pair(tmp_path)
    train, test = tmp_path / "train.txt", tmp_path / "test.txt"
    assert find_source(f"{train},{test}") == Source(tmp_path.name, (train, test))
    assert find_source("debian-tags") == Source("debian-tags")


def test_what_is_no_data_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no train file"):
        find_source(str(tmp_path))
    with pytest.raises(DataError, match="bundled"):
        find_source("no-such-data")
    with pytest.raises(DataError, match="TRAIN,TEST"):
        find_source("a.txt,b.txt")
    write_pair(tmp_path)
    with pytest.raises(ParameterError, match="two data sets"):
        find_sources([str(tmp_path), str(tmp_path)])


def test_rows_have_length_one_and_go_to_disk_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_pair(tmp_path)
    source, out = find_source(str(tmp_path)), tmp_path / "out"
    rows = prepare(source, out, "l2", 1)
    X = rows.matrix("train", "X").toarray()
    assert np.allclose(X, [[0.5**0.5, 0.5**0.5, 0], [0, 0, 1], [1, 0, 0]])
    assert rows.matrix("test", "Y").toarray().tolist() == [[0, 1], [0, 0]]
    assert (rows.folder / "train.txt").read_text().startswith("3 3 2\n0 0:0.7")
    counts, n_train = label_counts(rows)
    assert (counts.tolist(), n_train) == ([2, 2], 3)
    monkeypatch.setattr("zipfel.bench.sources._read", None)
    assert prepare(source, out, "l2", 1) == rows


def test_the_file_for_omikuji_has_no_row_without_features(tmp_path: Path) -> None:
    write_pair(tmp_path)
    (tmp_path / "train.txt").write_text("3 3 2\n0 0:1\n1\n0,1 2:2\n")
    rows = prepare(find_source(str(tmp_path)), tmp_path / "out", "l2", 1)
    assert rows.matrix("train", "X").shape == (3, 3)
    assert (rows.folder / "train.txt").read_text() == "2 3 2\n0 0:1\n0,1 2:1\n"


def test_rows_are_made_anew_when_something_changed(tmp_path: Path) -> None:
    write_pair(tmp_path)
    source, out = find_source(str(tmp_path)), tmp_path / "out"
    before = prepare(source, out, "l2", 1)
    other = prepare(source, out, "none", 1)
    assert other.fingerprint != before.fingerprint
    (tmp_path / "train.txt").write_text("1 3 2\n0 0:1\n")
    assert prepare(source, out, "none", 1).matrix("train", "X").shape == (1, 3)


def test_texts_become_rows_and_labels_of_test_alone_stand_behind(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text(
        '{"text": "red bike", "labels": ["b"]}\n{"text": "red car", "labels": ["c"]}\n'
    )
    (tmp_path / "test.jsonl").write_text('{"text": "bike", "labels": ["a", "b"]}\n')
    rows = prepare(find_source(str(tmp_path)), tmp_path / "out", "auto", 1)
    assert rows.matrix("test", "Y").toarray().tolist() == [[1, 0, 1]]  # b, c, then a
    assert np.allclose(rows.matrix("train", "X").multiply(rows.matrix("train", "X")).sum(axis=1), 1)
