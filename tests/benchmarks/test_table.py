"""The table of average places on tiny data: in pieces, resumed, and shown without running."""

import sys

import numpy as np
import scipy.sparse as sp

from benchmarks import table
from benchmarks.small import finished
from benchmarks.table import lines
from zipfel.data import Dataset, write


def run(monkeypatch, capsys, folder, *words):
    common = ["--shared", folder, "--out", folder / "out", "--threads", 1]
    monkeypatch.setattr(sys, "argv", ["table", *map(str, common), *words])
    table.main()
    return capsys.readouterr().out


def test_in_pieces_and_resumed(tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(0)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        for part in ("train", "test"):
            X = np.abs(rng.normal(size=(40, 8))).astype(np.float32)
            Y = (X[:, :4] > 0.9).astype(np.float32)
            write(Dataset(sp.csr_matrix(Y), sp.csr_matrix(X)), tmp_path / name / f"{part}.txt", format="xmc")
    first = run(monkeypatch, capsys, tmp_path, "--data", "one", "two", "--methods", "popular")
    assert "one seed 1 popular: P@1" in first
    run(monkeypatch, capsys, tmp_path, "--data", "one", "--methods", "popular", "centroid")
    file = tmp_path / "out" / "table.jsonl"
    assert len(file.read_text().splitlines()) == 3  # popular on one was not run again
    shown = run(monkeypatch, capsys, tmp_path, "--finished", "--data", "one", "two")
    assert "seed 1" not in shown
    assert "| one | P@1 | " in shown
    assert "**" in shown.split("| two | P@1 |")[0]
    assert "**" not in shown.split("| two | P@1 |")[1]  # nobody is best where one is missing
    last = shown.strip().splitlines()[-1]
    assert last.startswith("| one | mean place | ")  # two lacks a method
    assert len(finished(file)["two"]) == 1


def test_lines_by_hand():
    def records(*values):
        return [{f"P@{k}": value for k in (1, 3, 5)} for value in values]

    found = {"a": {"knn": records(60.0, 62.0), "auto": records(70.0)}, "b": {"auto": records(50.0)}}
    assert lines(found) == [
        "| data | metric | knn | auto |",
        "|---|---|---|---|",
        *(f"| a | P@{k} | 61.00 ±1.41 | **70.00** |" for k in (1, 3, 5)),
        *(f"| b | P@{k} | - | 50.00 |" for k in (1, 3, 5)),
        "| a | mean place | 2.00 | 1.00 |",
    ]
