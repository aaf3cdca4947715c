"""`--embeddings` and `--encoder` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.estimator.test_encoding import SUBJECTS, documents, meaning
from zipfel.cli.main import app
from zipfel.errors import ZipfelError

ENCODER = "tests.estimator.test_encoding:meaning"


def zipfel(*words: str | Path) -> str:
    done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def mistake(*words: str | Path) -> str:
    """What the command says is wrong."""
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert isinstance(done.exception, ZipfelError)
    return str(done.exception)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("embeddings")
    for name, n, seed in (("train", 500, 1), ("test", 40, 2), ("more", 20, 3)):
        texts, labels = documents(n, seed)
        rows = [
            {"id": f"{name}{i}", "text": t, "labels": own} for i, (t, own) in enumerate(zip(texts, labels, strict=True))
        ]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        np.save(folder / f"{name}.npy", meaning(texts).astype(np.float32))
    (folder / "v.jsonl").write_text("".join(json.dumps({"id": name, "label": name}) + "\n" for name in SUBJECTS))
    np.save(folder / "names.npy", meaning(SUBJECTS))
    by_files = (
        "--embeddings",
        folder / "train.npy",
        "--embeddings",
        folder / "test.npy",
        "--test",
        folder / "test.jsonl",
    )
    names = ("--vocabulary", folder / "v.jsonl", "--label-embeddings", folder / "names.npy")
    zipfel("fit", folder / "train.jsonl", "--preset", "quick", "--out", folder / "m", *by_files, *names)
    return folder


def test_files_and_encoders_answer_alike(files: Path) -> None:
    asked = ("predict", files / "m", files / "test.jsonl", "-k", "1", "--json")
    by_file = zipfel(*asked, "--embeddings", files / "test.npy")
    assert by_file == zipfel(*asked, "--encoder", ENCODER)
    right = [
        json.loads(line)["labels"] == own for line, own in zip(by_file.splitlines(), documents(40, 2)[1], strict=True)
    ]
    assert np.mean(right) > 0.9
    found = json.loads(zipfel("evaluate", files / "m", files / "test.jsonl", "--encoder", ENCODER, "--json"))
    assert found["P@1"] == pytest.approx(np.mean(right))
    assert "embedding" in zipfel("explain", files / "m", "w1 w7", "--encoder", ENCODER)


def test_a_line_that_cant_be_read_has_its_row(files: Path, tmp_path: Path) -> None:
    lines = (files / "test.jsonl").read_text().splitlines()[:6]
    lines[2] = "nonsense"
    (tmp_path / "some.jsonl").write_text("\n".join(lines) + "\n")
    np.save(tmp_path / "some.npy", np.load(files / "test.npy")[:6])
    asked = ("predict", files / "m", tmp_path / "some.jsonl", "-k", "1", "--json", "--on-error", "skip")
    assert zipfel(*asked, "--embeddings", tmp_path / "some.npy") == zipfel(*asked, "--encoder", ENCODER)
    for n, words in ((5, "more documents"), (7, "7 rows for 6 documents")):
        np.save(tmp_path / "some.npy", np.load(files / "test.npy")[:n])
        assert words in mistake(*asked, "--embeddings", tmp_path / "some.npy")


def test_an_update_adds_rows(files: Path, tmp_path: Path) -> None:
    asked = ("update", files / "m", files / "more.jsonl", "--out", tmp_path / "m2")
    assert "20 documents" in zipfel(*asked, "--embeddings", files / "more.npy")
    assert json.loads((tmp_path / "m2" / "config.json").read_text())["training"]["n_points"] == 520


def test_mistakes_are_told_in_a_sentence(files: Path, tmp_path: Path) -> None:
    fit = ("fit", files / "train.jsonl", "--out", tmp_path / "m")
    for words, told in (
        (("predict", files / "m", files / "test.jsonl"), "reads embeddings"),
        ((*fit, "--embeddings", files / "test.npy"), "40 rows for 500 documents"),
        ((*fit, "--embeddings", files / "train.npy", "--test", files / "test.jsonl"), "once for each file"),
        ((*fit, "--encoder", "nothing"), "package.module:name"),
        ((*fit, "--embeddings", files / "train.npy", "--label-embeddings", files / "names.npy"), "--vocabulary"),
        ((*fit, "--embeddings", files / "train.jsonl"), "is no .npy file"),
        ((*fit, "--encoder", ENCODER, "--method", "knn"), "reads no embeddings"),
    ):
        assert told in mistake(*words)
