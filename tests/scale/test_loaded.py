from __future__ import annotations

import os
from pathlib import Path

import pytest

from zipfel import Zipfel
from zipfel.errors import ModelFileError
from zipfel.scale.loaded import loaded_model


def test_a_model_is_loaded_once_until_it_changes(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    model = Zipfel("knn", n_neighbors=1, sharpness=1, rarity=0, threads=1).fit(["a bike", "a boat"], [["one"], ["two"]])
    model.save(folder)
    first = loaded_model(folder)
    assert loaded_model(str(folder)) is first
    assert first.threads is None
    model.save(folder)
    os.utime(folder / "config.json", ns=(1, 1))
    assert loaded_model(folder) is not first
    with pytest.raises(ModelFileError):
        loaded_model(tmp_path / "none")
