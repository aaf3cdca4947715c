"""`zipfel explain` as a user types it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.test_main import ROWS, real, zipfel

SMALL = ["word_dim=16", "dim=16", "hidden=16", "epochs=30", "keep=1"]


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


@pytest.fixture(scope="module")
def default(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("default")
    (folder / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS * 8))
    done = zipfel("fit", folder / "train.jsonl", "--preset", "quick", "--out", folder / "model")
    assert done.exit_code == 0, done.output
    return folder / "model"


def test_the_default_method_tells_words_evidence_and_training_rows(default: Path) -> None:
    lines = zipfel("explain", default, "a red bike", "-k", 1).stdout.splitlines()
    assert lines[0].startswith("bike ")
    assert lines[1].startswith("  words: ")
    assert "bike +" in lines[1]
    assert lines[2].startswith("  evidence: start ")
    assert re.match(r"  training rows: \d+ \+[\d.]+ \(.*bike", lines[3])
    assert len(lines) == 4


def test_the_default_method_s_numbers_add_up(default: Path, tmp_path: Path) -> None:
    done = zipfel("explain", default, "a red bike", "--json", "--html", tmp_path / "why.html")
    found = json.loads(done.stdout)
    assert found["words"][0] == {"word": "bike"}
    for label in found["labels"]:
        assert sum(label["evidence"].values()) == pytest.approx(label["score"], abs=1e-4)
        assert sum(label["contributions"]) == pytest.approx(label["evidence"]["words"], abs=1e-4)
        voters = sum(voter["added"] for voter in label["voters"])
        assert voters == pytest.approx(label["evidence"]["neighbours by words"], abs=1e-4)
    page = (tmp_path / "why.html").read_text()
    assert "attention" not in page
    assert "<li>training rows: " in page


def test_the_training_documents_are_shown_where_they_are_given(default: Path) -> None:
    lines = zipfel("explain", default, "a red bike", "-k", 1, "--train", default.parent / "train.jsonl").stdout
    assert re.search(r"\n    \d+: [14] (red bike wheel|bike chain oil)\n", lines)
    assert lines.count("\n    ") == 5


def test_a_label_beyond_the_best_has_its_score_too(default: Path) -> None:
    whole = json.loads(zipfel("explain", default, "red boat", "-k", 3, "--json").stdout)["labels"]
    third = zipfel("explain", default, "red boat", "-k", 1, "--label", whole[2]["label"], "--json").stdout
    assert json.loads(third)["labels"][0]["score"] == pytest.approx(whole[2]["score"], abs=1e-4)


def test_a_label_that_nobody_near_has_is_told_so(tmp_path: Path) -> None:
    """Unless it is one of the ten most frequent, which everyone considers."""
    usual = [{"text": f"thing{i} stuff{i}", "labels": [f"kind{i}"]} for i in range(10)]
    rows = (
        usual * 4
        + [{"text": "a boat with a sail", "labels": ["boat"]}, {"text": "drops of oil", "labels": ["oil"]}] * 3
    )
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = zipfel("fit", tmp_path / "train.jsonl", "--preset", "quick", "--out", tmp_path / "model")
    assert done.exit_code == 0, done.output
    words = [word for label in ("oil", "boat", "kind3") for word in ("--label", label)]
    found = zipfel("explain", tmp_path / "model", "a sail", *words).stdout
    assert found.count("no training document near this one has the label") == 1
    assert found.index("oil") < found.index("no training document near this one") < found.index("boat")


def test_a_method_that_can_not_says_which_can(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    zipfel("fit", tmp_path / "train.jsonl", "--method", "popular", "--out", tmp_path / "model")
    done = real("explain", tmp_path / "model", "a bike")
    assert done.returncode == 64
    assert (
        done.stderr.strip() == "zipfel: method 'popular' has no explain; these have: knn, centroid, auto, ova, rankae"
    )
