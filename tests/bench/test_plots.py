from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

from zipfel.bench.plots import PANELS, draw
from zipfel.errors import MissingExtraError


def record(system: str, *, ours: bool) -> dict[str, Any]:
    columns = [column for panel in PANELS for column in panel]
    costs = {column.key: 1.5 for column in columns if not column.more_is_better}
    metrics = {column.key: 0.4 for column in columns if column.more_is_better}
    return {"data": "bibtex", "system": system, "ours": ours, "status": "ok", "metrics": metrics, **costs}


def test_a_picture_a_data_set(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    (file,) = draw([record("knn", ours=True), record("omikuji", ours=False)], tmp_path)
    assert file == tmp_path / "bibtex.svg"
    drawn = file.read_text()
    assert drawn.lstrip().startswith("<?xml")
    for words in ("knn", "omikuji", "training (s)", "model (MB)", "R@5 of tail labels (%)"):
        assert f"<!-- {words} -->" in drawn


def test_without_matplotlib_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(MissingExtraError, match="bench"):
        draw([], tmp_path)
