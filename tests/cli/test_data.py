"""`zipfel data` as a user types it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from zipfel.cli.data import app
from zipfel.data import read
from zipfel.errors import DataError, ParameterError


def data(*words: object, stdin: str | None = None) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words], input=stdin, catch_exceptions=False)


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    lines = [{"id": f"d{i}", "text": f"text {i}", "labels": ["even" if i % 2 == 0 else "odd"]} for i in range(40)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture
def sparse(tmp_path: Path) -> Path:
    path = tmp_path / "old.txt"
    path.write_text("3 4 2\n0,1 0:1 3:0.5\n1 1:2\n 2:1\n")
    (tmp_path / "labels.txt").write_text("red\nblue\n")
    return path


def test_stats_draws_a_histogram(sparse: Path) -> None:
    done = data("stats", sparse)
    assert done.exit_code == 0
    for words in ("points", "4 (1.3 a point)", "labels a point", "100.0% have at most 5 points", "█", "tail"):
        assert words in done.output
    assert "1 rows have no labels" in done.stderr


def test_stats_as_json_from_standard_input(rows: Path) -> None:
    done = data("stats", "-", "--json", stdin=rows.read_text())
    facts = json.loads(done.stdout)
    assert (facts["n_points"], facts["n_labels"], facts["name"]) == (40, 2, "stdin")
    assert [bucket["name"] for bucket in facts["buckets"]] == ["head", "torso", "tail"]


def test_convert_writes_names_beside(sparse: Path, tmp_path: Path) -> None:
    out = tmp_path / "new"
    out.mkdir()
    facts = json.loads(data("convert", sparse, out / "a.arff", "--json").stdout)
    assert facts["written"][0]["files"] == [str(out / "a.arff"), str(out / "a.xml")]
    done = data("convert", out / "a.arff", out / "b.txt.gz")
    assert "3 rows -> " in done.stdout
    again = read(out / "b.txt.gz")
    assert again.label_names == ["red", "blue"]
    assert again.fingerprint() == read(sparse).fingerprint()


def test_split_is_reproducible(rows: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        data("split", rows, tmp_path / f"{name}.rest.jsonl", tmp_path / f"{name}.held.jsonl", "--share", 0.25)
    assert (tmp_path / "a.held.jsonl").read_bytes() == (tmp_path / "b.held.jsonl").read_bytes()
    held, rest = read(tmp_path / "a.held.jsonl"), read(tmp_path / "a.rest.jsonl")
    assert sorted([*(held.ids or ()), *(rest.ids or ())]) == sorted(read(rows).ids or ())


def test_sample_and_synth(rows: Path, tmp_path: Path) -> None:
    data("sample", rows, tmp_path / "small.jsonl", "--rows", 7)
    assert read(tmp_path / "small.jsonl").n_points == 7
    words = ["--points", 50, "--features", 90, "--labels", 20, "--features-per-point", 8, "--labels-per-point", 2]
    data("synth", tmp_path / "made.txt", *words)
    made = read(tmp_path / "made.txt")
    assert (made.n_points, made.n_features, made.n_labels) == (50, 90, 20)


def test_errors_are_left_to_the_main_command(tmp_path: Path, rows: Path) -> None:
    with pytest.raises(DataError, match="there is no such file"):
        data("stats", tmp_path / "gone.txt")
    with pytest.raises(ParameterError, match="between 0 and 1"):
        data("split", rows, tmp_path / "a.jsonl", tmp_path / "b.jsonl", "--share", 2)
    assert not (tmp_path / "a.jsonl").exists()


def test_help_has_examples_and_imports_nothing_heavy() -> None:
    for command in ("stats", "convert", "split", "sample", "synth"):
        assert f"zipfel data {command}" in data(command, "--help").output
    code = "import sys, zipfel.cli.data; print({'numpy', 'numba', 'scipy', 'torch'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"


def test_split_does_not_replace_one_part_by_the_other(rows: Path) -> None:
    with pytest.raises(ParameterError, match="same file"):
        data("split", rows, rows.parent / "part.jsonl", rows.parent / "." / "part.jsonl")
    assert not (rows.parent / "part.jsonl").exists()


def test_names_that_look_like_markup_are_shown_as_they_are(rows: Path) -> None:
    odd = rows.rename(rows.parent / "[red]x[nope].jsonl")
    assert "[red]x[nope]" in data("stats", odd).output


def test_small_synthetic_data_needs_no_further_options(tmp_path: Path) -> None:
    assert data("synth", tmp_path / "s.txt", "-n", 20, "--features", 30, "--labels", 3).exit_code == 0
    assert read(tmp_path / "s.txt").n_labels == 3


def test_pack_and_check(rows: Path, tmp_path: Path) -> None:
    done = data("pack", rows, tmp_path / "packed", "--workers", 1, "--json")
    assert json.loads(done.stdout)["n_points"] == 40
    assert "sound" in data("check", tmp_path / "packed").output
    assert "points" in data("stats", tmp_path / "packed").output
    with pytest.raises(DataError, match="already"):
        data("pack", rows, tmp_path / "packed")
    assert data("pack", rows, tmp_path / "packed", "--force").exit_code == 0


@pytest.mark.parametrize("words", [("sample",), ("convert",), ("split", "other.jsonl")])
def test_nothing_is_replaced_silently_and_the_input_never(rows: Path, words: tuple[str, ...]) -> None:
    before = rows.read_bytes()
    more = [rows.parent / word for word in words[1:]]
    for options in ([], ["--force"]):
        with pytest.raises(ParameterError, match="is the input"):
            data(words[0], rows, rows, *more, *options)
    other = rows.parent / "there.jsonl"
    other.write_text("kept")
    with pytest.raises(ParameterError, match="exists already: choose another name, or add --force"):
        data(words[0], rows, other, *more)
    assert (rows.read_bytes(), other.read_text()) == (before, "kept")
    assert data(words[0], rows, other, *more, "--force").exit_code == 0
    assert other.read_text() != "kept"
