"""`zipfel data bundled` writes what `datasets.load` reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_main import zipfel
from zipfel import datasets
from zipfel.data import read
from zipfel.errors import DataError, ParameterError


def test_files_hold_the_bundled_data(tmp_path: Path) -> None:
    assert zipfel("data", "bundled", tmp_path / "new").exit_code == 0
    found = read(str(tmp_path / "new" / "test.jsonl"))
    assert list(found.texts or ()) == list(datasets.load("debian-tags")[1].texts or ())


def test_nothing_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "test.jsonl").write_text("mine")
    with pytest.raises(ParameterError, match="exists already"):
        zipfel("data", "bundled", tmp_path)
    assert not (tmp_path / "train.jsonl").exists()


def test_an_unknown_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="debian-tags"):
        zipfel("data", "bundled", tmp_path, "--name", "debian-tag")
