from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

from zipfel.bench.plots import ACCURACY, HEAD, SIZE, TAIL, TORSO, TRAINING, draw
from zipfel.errors import MissingExtraError


def record(system: str, *, ours: bool, tail: float = 0.1) -> dict[str, Any]:
    costs = {column.key: 1.5 for column in (TRAINING, SIZE)}
    metrics = {column.key: 0.4 for column in (ACCURACY, HEAD, TORSO)} | {TAIL.key: tail}
    return {"data": "bibtex", "system": system, "ours": ours, "status": "ok", "metrics": metrics, **costs}


def test_a_picture_a_data_set(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    (file,) = draw([record("knn", ours=True), record("omikuji", ours=False)], tmp_path)
    assert file == tmp_path / "bibtex.svg"
    drawn = file.read_text()
    assert drawn.lstrip().startswith("<?xml")
    for words in ("knn", "omikuji", "training (s)", "model (MB)", "R@5 of tail labels (%)"):
        assert f"<!-- {words} -->" in drawn


def test_torso_stands_in_where_there_is_no_tail(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    (file,) = draw([record("knn", ours=True, tail=0.0)], tmp_path)
    assert "<!-- R@5 of torso labels (%) -->" in file.read_text()


def test_without_matplotlib_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(MissingExtraError, match="bench"):
        draw([], tmp_path)
