"""`zipfel explain` as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_main import ROWS, real, zipfel

SMALL = ["word_dim=16", "dim=16", "hidden=16", "networks=1", "epochs=30", "keep=1"]


@pytest.fixture(scope="module")
def explainer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explain")
    (folder / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS * 8))
    settings = [word for pair in SMALL for word in ("--set", pair)]
    done = zipfel("fit", folder / "train.jsonl", "--method", "rankae", "--out", folder / "model", *settings)
    assert done.exit_code == 0, done.output
    return folder / "model"


def test_words_of_each_label(explainer: Path) -> None:
    lines = zipfel("explain", explainer, "a red boat", "-k", 2).stdout.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("attention: ")
    assert lines[1].startswith("boat ")
    assert "boat +" in lines[1]


def test_json(explainer: Path) -> None:
    found = json.loads(zipfel("explain", explainer, "-", "--label", "oil", "--json", stdin="bike oil").stdout)
    assert found["text"] == "bike oil"
    assert [word["word"] for word in found["words"]] == ["bike", "oil"]
    assert [label["label"] for label in found["labels"]] == ["oil"]
    assert len(found["labels"][0]["contributions"]) == 2


def test_html_is_a_page_in_which_nothing_can_run(explainer: Path, tmp_path: Path) -> None:
    page = tmp_path / "why.html"
    done = zipfel("explain", explainer, "<script>alert('bike')</script>", "--html", page)
    assert done.exit_code == 0
    assert "<script>" not in page.read_text()
    assert page.read_text().count("&lt;script&gt;") > 1


def test_a_document_without_known_words(explainer: Path) -> None:
    done = zipfel("explain", explainer, "qwertz")
    assert done.exit_code == 0
    assert "none of this document's words" in done.stdout


def test_a_method_that_can_not_says_which_can(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    zipfel("fit", tmp_path / "train.jsonl", "--method", "knn", "--out", tmp_path / "model")
    done = real("explain", tmp_path / "model", "a bike")
    assert done.returncode == 2
    assert done.stderr.strip() == "zipfel: method 'knn' has no explain; these have: rankae"
