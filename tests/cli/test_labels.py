"""`zipfel labels` as a user types it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from zipfel import Zipfel
from zipfel.cli.labels import app
from zipfel.data import Concept, Vocabulary
from zipfel.errors import DataError

TEXTS = ["a red bike", "a blue boat", "a green bike", "a small boat", "a fast train"]
LABELS = [["bike"], ["boat"], ["bike"], ["boat"], ["train"]]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    Zipfel("knn").fit(TEXTS, LABELS).save(tmp_path / "model")
    return tmp_path / "model"


def change(command: str, model: Path, lines: str, *more: object) -> Any:
    (model.parent / "lines.tsv").write_text(lines)
    words = [command, str(model), str(model.parent / "lines.tsv"), *map(str, more), "--json"]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    return json.loads(done.stdout)


def best(model: Path, text: str = "a red bike", k: int = 3) -> list[str]:
    return Zipfel.load(model).predict([text], k).names[0]


def test_retire(model: Path) -> None:
    assert best(model)[0] == "bike"
    assert change("retire", model, "bike\n")["retired"] == 1
    assert "bike" not in best(model)
    assert Zipfel.load(model).evaluate(["a blue boat"], [["boat"]])["P@1"] == 1


def test_rename_into_another_folder(model: Path) -> None:
    other = model.parent / "other"
    assert change("rename", model, "bike\tbicycle\n", "--out", other)["renamed"] == 1
    assert (best(model)[0], best(other)[0]) == ("bike", "bicycle")


def test_merge_and_what_new_documents_count_as(model: Path) -> None:
    assert change("merge", model, "boat\ttrain\nbike\ttrain\n")["merged"] == 2
    assert best(model) == ["train"]
    loaded = Zipfel.load(model)
    loaded.partial_fit(["a slow bike"], [["bike"]])
    assert loaded.label_counts_.tolist()[loaded.label_names_.index("train")] == 6


def test_add_and_then_learn(model: Path) -> None:
    told = change("add", model, "plane\n\nship\n")
    assert (told["added"], told["n_labels"]) == (2, 5)
    assert best(model)[0] == "bike"
    loaded = Zipfel.load(model)
    loaded.partial_fit(["a green boat train"], [["plane"]])
    loaded.save(model)
    assert best(model, "a green boat train")[0] == "plane"


def test_concepts_are_named_by_identifier(tmp_path: Path) -> None:
    concepts = [Concept(f"http://x/{name}", {"en": name}) for name in ("bike", "boat", "train")]
    Zipfel("knn").fit(TEXTS, LABELS, vocabulary=Vocabulary(concepts)).save(tmp_path / "model")
    change("rename", tmp_path / "model", "http://x/bike\tbicycle\n")
    change("add", tmp_path / "model", "http://x/plane\tplane\n")
    found = Zipfel.load(tmp_path / "model")
    assert found.vocabulary_ is not None
    assert [found.vocabulary_.name(i) for i in range(4)] == ["bicycle", "boat", "train", "plane"]
    assert found.vocabulary_.identifier(3) == "http://x/plane"


@pytest.mark.parametrize(
    ("command", "lines", "words"),
    [
        ("retire", "bke\n", "did you mean 'bike'"), ("retire", "", "names no label"),
        ("retire", "a\tb\n", "lines.tsv:1"),
        ("rename", "bike\n", "OLD<TAB>NEW"), ("rename", "bike\tboat\n", "two labels"), ("add", "bike\n", "already"),
        ("merge", "bike\tbike\n", "itself"), ("merge", "bike\tboat\nboat\ttrain\n", "merged into another"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_and_leaves_the_model(model: Path, command: str, lines: str, words: str) -> None:
    before = (model / "config.json").read_bytes()
    with pytest.raises(DataError, match=words):
        change(command, model, lines)
    assert (model / "config.json").read_bytes() == before
