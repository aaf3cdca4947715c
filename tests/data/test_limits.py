"""Small files that would become large are refused in little time and memory, unless they are trusted."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import zstandard

from tests.limited import run_limited
from zipfel.data import limits, read, trusting
from zipfel.errors import DataError

READ = """
for path in sys.argv[1:]:
    try:
        data = zipfel.data.read(path)
        print(data.n_points, data.n_labels)
    except zipfel.errors.DataError as error:
        print("refused:", str(error).replace(chr(10), " "))
"""
IMPORTS = """
import zipfel.data, zipfel.errors
try:
    import pyarrow, pyarrow.parquet, pyarrow.compute
except ImportError:
    pass
"""


def read_limited(*paths: Path) -> list[str]:
    return run_limited(READ, *paths, seconds=20, megabytes=1000, imports=IMPORTS).splitlines()


def packed(path: Path, content: bytes) -> Path:
    path.write_bytes(zstandard.ZstdCompressor(level=19).compress(content))
    return path


def test_compressed_bombs(tmp_path: Path) -> None:
    row = b'{"text":"a","labels":[]}\n'
    bombs = [
        packed(tmp_path / "a.jsonl.zst", b"\n" * 100_000_000),
        packed(tmp_path / "b.jsonl.zst", row * 4_000_000),
        packed(tmp_path / "a.csv.zst", b"text,labels\n" + b"\n" * 100_000_000),
        packed(tmp_path / "a.svm.zst", b" \n" * 50_000_000),
    ]
    assert all(path.stat().st_size < 20_000 for path in bombs)
    told = read_limited(*bombs)
    assert len(told) == len(bombs)
    assert all("refused" in line and "200 times" in line for line in told), told


def test_matrices_of_nothing(tmp_path: Path) -> None:
    for kind in ("csc", "coo"):
        one = {"data": np.ones(1, np.float32), "format": kind, "shape": np.array([2_000_000_000, 1])}
        if kind == "coo":
            one |= {"row": np.zeros(1, np.int32), "col": np.zeros(1, np.int32)}
        else:
            one |= {"indices": np.zeros(1, np.int32), "indptr": np.array([0, 1])}
        np.savez_compressed(tmp_path / f"X_{kind}.npz", **one)
        np.savez_compressed(tmp_path / f"Y_{kind}.npz", **one)
    zeros = np.zeros(50_000_001, np.int32)
    rows = {
        "data": zeros[:0],
        "indices": zeros[:0],
        "indptr": zeros,
        "format": "csr",
        "shape": np.array([50_000_000, 5]),
    }
    np.savez_compressed(tmp_path / "X.npz", **rows)
    np.savez_compressed(tmp_path / "Y.npz", **rows)
    told = read_limited(*(tmp_path / f"{name}.npz" for name in ("X", "X_csc", "X_coo")))
    assert [("refused" in line, "times" in line, "rows" in line) for line in told] == [
        (True, True, False), (True, False, True), (True, False, True),
    ]  # fmt: skip


def test_parquet_of_equal_values(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    def write(name: str, text: str, rows: int, labels: object = None) -> Path:
        places = pa.array(np.zeros(rows, np.int32))
        texts = pa.DictionaryArray.from_arrays(places, pa.array([text]))
        tags = pa.DictionaryArray.from_arrays(places, pa.array(["b"])) if labels is None else labels
        pq.write_table(pa.table({"text": texts, "labels": tags}), tmp_path / name, compression="zstd")
        return tmp_path / name

    long = pa.ListArray.from_arrays(pa.array([0, 20_000_000]), pa.array(np.zeros(20_000_000, np.int32)))
    bombs = [
        write("rows.parquet", "a", 8_000_000),
        write("texts.parquet", "a" * 400_000, 2000),
        write("labels.parquet", "a", 1, long),
    ]
    assert all(path.stat().st_size < 100_000 for path in bombs)
    told = read_limited(*bombs)
    assert all("refused" in line and "200 times" in line for line in told), told
    honest = pa.table({"text": ["a", "b"] * 50, "labels": [["x"], ["y", "z"]] * 50})
    pq.write_table(honest, tmp_path / "honest.parquet")
    assert read_limited(tmp_path / "honest.parquet") == ["100 3"]


def test_ids_far_beyond_what_there_is(tmp_path: Path) -> None:
    (tmp_path / "a.svm").write_text("99999999 1:1\n" + "1 2:1\n" * 40)
    (tmp_path / "b.svm").write_text("1 99999999:1\n" + "1 2:1\n" * 40)
    (tmp_path / "c.txt").write_text("2 90000000 90000000\n1 1:1\n2 2:1\n")
    (tmp_path / "d.svm").write_text("3999999 1:1\n" + "1 2:1\n" * 40)
    told = read_limited(*(tmp_path / name for name in ("a.svm", "b.svm", "c.txt", "d.svm")))
    assert ["labels" in told[0], "features" in told[1], "labels" in told[2]] == [True, True, True]
    assert told[3] == "41 4000000"


def test_arff_is_linear_in_its_attributes(tmp_path: Path) -> None:
    names = [f"a{i}" for i in range(30_000)]
    lines = [f"@attribute {name} numeric" for name in names]
    (tmp_path / "m.arff").write_text("\n".join(["@relation r", *lines, "@data", "{1 1}", "{2 1}"]) + "\n")
    (tmp_path / "m.xml").write_text(
        "<labels>" + "".join(f'<label name="{name}"/>' for name in names[:9000]) + "</labels>"
    )
    assert read_limited(tmp_path / "m.arff") == ["2 9000"]


def test_spaces(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(" " * 65_000 + "x\n" + "__label__a b\n")
    (tmp_path / "b.txt").write_text(("\t" * 200 + "@relatio\n") * 300)
    assert read_limited(tmp_path / "a.txt")[0] == "2 1"
    assert "refused" in read_limited(tmp_path / "b.txt")[0]


def test_what_is_trusted_may_be_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "FREE_BYTES", 1000)
    path = packed(tmp_path / "a.jsonl.zst", b'{"text": "a", "labels": ["b"]}\n' * 20_000)
    with pytest.raises(DataError, match="--trust-data"):
        read(path)
    with trusting():
        assert read(path).n_points == 20_000
    with pytest.raises(DataError):
        read(path)


def test_the_command_line_says_whom_it_trusts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from zipfel.cli import main

    seen = []
    monkeypatch.setattr(
        main, "app", lambda words, standalone_mode, prog_name: seen.append((words, limits.is_trusted()))
    )
    monkeypatch.setattr(main, "run_guarded", lambda command, debug: command())
    for words in (["data", "--trust-data", "stats", "x"], ["data", "stats", "x"]):
        monkeypatch.setattr(sys, "argv", ["zipfel", *words])
        main.main()
    assert seen == [(["data", "stats", "x"], True), (["data", "stats", "x"], False)]
