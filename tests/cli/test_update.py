"""`zipfel update` as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_main import ROWS, real, zipfel

NEW = [{"id": "5", "text": "sail of the red bike", "labels": ["amphibian"]}]


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("method", ["knn", "dxml", "auto"])
def test_new_documents_are_found_by_the_new_model_and_not_by_the_old(method: str, tmp_path: Path) -> None:
    settings = {"knn": ["n_neighbors=1"], "dxml": ["n_neighbors=1", "epochs=2", "networks=1"], "auto": ["effort=quick"]}
    small = [word for setting in settings[method] for word in ("--set", setting)]
    old, new = tmp_path / "old", tmp_path / "new"
    zipfel("fit", write(tmp_path / "train.jsonl", ROWS * 4), "--method", method, "--out", old, *small)
    copies = 4 if method == "auto" else 1  # auto has other evidence besides the nearest neighbour
    rows = [{**row, "id": f"new {i}"} for i, row in enumerate(NEW * copies)]
    done = zipfel("update", old, write(tmp_path / "new.jsonl", rows), "--out", new, "--json")
    told = json.loads(done.stdout)
    assert (told["added"], told["new_labels"], told["n_points"]) == (copies, 1, 16 + copies)
    assert best(new) == "amphibian"
    assert best(old) != "amphibian"
    assert f"{16 + copies} documents" in zipfel("update", old, tmp_path / "new.jsonl").stdout
    assert best(old) == "amphibian"


def best(model: Path) -> str:
    return str(json.loads(zipfel("predict", model, "-k", 1, "--json", stdin=NEW[0]["text"]).stdout)["labels"][0])


def test_a_method_that_can_not_says_which_can_and_leaves_the_model_alone(tmp_path: Path) -> None:
    train, model = write(tmp_path / "train.jsonl", ROWS), tmp_path / "model"
    zipfel("fit", train, "--method", "centroid", "--out", model)
    before = {file.name: file.read_bytes() for file in model.iterdir()}
    done = real("update", model, train)
    assert done.returncode == 64
    assert done.stderr.strip() == "zipfel: method 'centroid' has no partial_fit; these have: knn, auto, dxml"
    assert before == {file.name: file.read_bytes() for file in model.iterdir()}
