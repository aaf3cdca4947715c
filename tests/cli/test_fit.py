"""What `zipfel fit` saves."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from zipfel import Zipfel
from zipfel.cli.main import app
from zipfel.errors import ParameterError


def test_the_seed_is_saved_with_the_model(tmp_path: Path) -> None:
    train = tmp_path / "train.jsonl"
    train.write_text("".join(f'{{"text": "a {c} bike", "labels": ["{c}"]}}\n' for c in ("red", "blue", "green")))
    words = ["fit", str(train), "--out", str(tmp_path / "m"), "--method", "knn", "--seed", "3"]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert Zipfel.load(tmp_path / "m").seed == 3


def test_a_method_that_workers_cannot_fit_says_what_to_do(tmp_path: Path) -> None:
    train = tmp_path / "train.jsonl"
    train.write_text('{"text": "a red bike", "labels": ["red"]}\n')
    words = ["fit", str(train), "--out", str(tmp_path / "m"), "--method", "knn", "--workers", "2"]
    found = CliRunner().invoke(app, words)
    assert isinstance(found.exception, ParameterError)
    assert "leave out --workers, or use one of auto" in str(found.exception)
    assert not (tmp_path / "m").exists()
