"""Packing: piece by piece, by several processes, stopped and gone on with; never a half in place of a whole."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.data.conftest import Put
from tests.data.test_packed import assert_same
from zipfel import Zipfel
from zipfel.data import pack, pieces, read
from zipfel.errors import DataError


def lines(n: int) -> str:
    rows = [{"text": f"text number {i} é", "labels": [f"l{i % 7}", f"l{i * i % 31}"]} for i in range(n)]
    for i in range(n // 2, n, 3):
        rows[i]["id"] = str(i - n // 2)
    return "\n".join(json.dumps(row) + "\n" * (i % 5 == 0) for i, row in enumerate(rows))


@pytest.fixture
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE_BYTES", 1000)


@pytest.mark.usefixtures("_small_pieces")
@pytest.mark.parametrize("workers", [1, 2])
def test_pieces_make_the_whole(workers: int, put: Put, tmp_path: Path) -> None:
    file = put("rows.jsonl", lines(200))
    pack(file, tmp_path / "packed", workers=workers)
    assert_same(read(tmp_path / "packed"), read(file))


@pytest.mark.usefixtures("_small_pieces")
@pytest.mark.parametrize("header", ["", "300 50 40\n"])
def test_pieces_of_numbers_make_the_whole(header: str, put: Put, tmp_path: Path) -> None:
    rows = "".join(f"{i % 40},{i * i % 37} {i % 10}:1.5 {10 + i % 40}:0.1\n" for i in range(300))
    file = put("rows.txt" if header else "rows.svm", header + rows + "\n" * bool(header))
    pack(file, tmp_path / "packed")
    assert_same(read(tmp_path / "packed"), read(file))


@pytest.mark.usefixtures("_small_pieces")
@pytest.mark.parametrize("rows", ["", "0 0:1\n" * 299, "0 0:1\n" * 300 + "\n 1:1\n"])
def test_a_header_must_be_right(rows: str, put: Put, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="says 300 rows"):
        pack(put("rows.txt", "300 50 40\n" + rows), tmp_path / "packed", format="xmc")


@pytest.mark.usefixtures("_small_pieces")
def test_errors_name_the_line_of_the_file(put: Put, tmp_path: Path) -> None:
    file = put("rows.jsonl", lines(200) + "\n{}\n")
    for reader in (read, lambda path: pack(path, tmp_path / "packed")):
        with pytest.raises(DataError, match=f"rows.jsonl:{lines(200).count(chr(10)) + 2}: there is no field"):
            reader(file)
    assert not (tmp_path / "packed").exists()


@pytest.mark.usefixtures("_small_pieces")
def test_work_that_was_stopped_goes_on(put: Put, tmp_path: Path) -> None:
    file, seen = put("rows.jsonl", lines(200)), []

    def stop(rows: int) -> None:
        seen.append(rows)
        if sum(seen) > 60:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        pack(file, tmp_path / "packed", on_rows=stop)
    assert not (tmp_path / "packed").exists()
    with (tmp_path / ".packed.zipfel-packing" / "texts.utf8").open("ab") as half:
        half.write(b"half a piece")
    again: list[int] = []
    pack(file, tmp_path / "packed", on_rows=again.append)
    assert again[0] == sum(seen)
    assert sum(again) == 200
    assert_same(read(tmp_path / "packed"), read(file))
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.usefixtures("_small_pieces")
def test_work_on_a_changed_file_begins_anew(put: Put, tmp_path: Path) -> None:
    def stop(rows: int) -> None:
        if rows:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        pack(put("rows.jsonl", lines(200)), tmp_path / "packed", on_rows=stop)
    file = put("rows.jsonl", lines(100))
    pack(file, tmp_path / "packed")
    assert_same(read(tmp_path / "packed"), read(file))


def test_nothing_is_replaced_unasked(put: Put, tmp_path: Path) -> None:
    file, target = put("rows.jsonl", lines(20)), tmp_path / "packed"
    pack(file, target)
    with pytest.raises(DataError, match="already"):
        pack(file, target)
    pack(file, target, force=True)
    with pytest.raises(DataError, match="no packed data"):
        pack(file, file, force=True)
    with pytest.raises(DataError, match="no packed data"):
        pack(file, tmp_path, force=True)


@pytest.mark.usefixtures("_small_pieces")
def test_rows_with_features_and_rows_without_do_not_mix(put: Put, tmp_path: Path) -> None:
    rows = '{"text": "a", "labels": []}\n' * 100 + '{"features": {"1": 1}, "labels": []}\n' * 100
    with pytest.raises(DataError, match="features"):
        pack(put("rows.jsonl", rows), tmp_path / "packed")


def test_a_model_is_the_same(put: Put, tmp_path: Path) -> None:
    file = put("rows.jsonl", lines(200))
    pack(file, tmp_path / "packed")
    one, two = (Zipfel("knn").fit(read(path)) for path in (file, tmp_path / "packed"))
    for model in (one, two):
        ranking = model.predict(read(tmp_path / "packed"), 3)
        assert ranking.scores.tobytes() == one.predict(read(file), 3).scores.tobytes()
