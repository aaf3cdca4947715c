"""Vocabularies, thresholds, metrics to optimise and calibration on the command line."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from typer.testing import CliRunner

from zipfel.cli.main import app

NAMES = {"x:1": ("bike", "Fahrrad"), "x:2": ("boat", "Boot"), "x:3": ("train", "Zug")}


def zipfel(*words: str | Path) -> str:
    done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vocabulary, training and test data, and a model."""
    folder = tmp_path_factory.mktemp("decisions")
    concepts = [
        {"id": key, "labels": {"en": en, "de": de}, "notation": f"N{key[-1]}"} for key, (en, de) in NAMES.items()
    ]
    (folder / "v.jsonl").write_text("".join(json.dumps(c) + "\n" for c in concepts))
    rows = []
    for i in range(240):
        own = [key for j, key in enumerate(NAMES) if (i >> j) & 1] or ["x:1"]
        rows.append({"id": str(i), "text": f"{' '.join(NAMES[key][0] for key in own)} no {i % 7}", "labels": own})
    (folder / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[:40]))
    other = [{**row, "labels": ["x:3"]} if i % 3 else row for i, row in enumerate(rows)]
    (folder / "other.jsonl").write_text("".join(json.dumps(row) + "\n" for row in other))
    zipfel("fit", folder / "train.jsonl", "--vocabulary", folder / "v.jsonl", "--method", "knn", "--out", folder / "m")
    return folder


def answers(files: Path, *words: str) -> list[dict[str, list[object]]]:
    return [
        json.loads(line) for line in zipfel("predict", files / "m", files / "test.jsonl", "--json", *words).splitlines()
    ]


def test_identifiers_names_and_notations(files: Path) -> None:
    found = answers(files, "-k", "2", "--language", "de")[1]
    assert found["labels"] == found["ids"]
    assert found["names"] == [NAMES[str(key)][1] for key in found["ids"]]
    assert found["notations"] == [f"N{str(key)[-1]}" for key in found["ids"]]
    assert "Boot" in zipfel("predict", files / "m", files / "test.jsonl", "--language", "de")


def test_thresholds_and_limits(files: Path) -> None:
    sure = answers(files, "--threshold", "0.5")
    assert {len(row["labels"]) for row in sure} >= {1, 2}
    assert all(score >= 0.5 for row in sure for score in row["scores"])  # type: ignore[operator]
    assert {len(row["labels"]) for row in answers(files, "--limit", "1")} == {1}
    assert [r["labels"] for r in answers(files, "--threshold", "auto", "--limit", "1")] == [
        r["labels"][:1] for r in answers(files, "--threshold", "auto")
    ]


@pytest.mark.parametrize("metric", ["precision", "macro-f1", "coverage"])
def test_a_metric_to_optimise(files: Path, metric: str) -> None:
    for words in ((), ("--together",)):
        found = answers(files, "--optimise", metric, "-k", "2", *words)
        assert len(found) == 40
        assert {len(row["labels"]) for row in found} <= {1, 2}


def test_evaluate_draws_reliability(files: Path) -> None:
    file = files / "d.svg"
    shown = zipfel("evaluate", files / "m", files / "test.jsonl", "--threshold", "auto", "--diagram", file)
    assert "reliability of the first 5" in shown
    assert "micro-F1" in shown
    assert ET.parse(file).getroot().tag == "{http://www.w3.org/2000/svg}svg"
    found = json.loads(zipfel("evaluate", files / "m", files / "test.jsonl", "--threshold", "0.5", "--json"))
    assert found["micro-F1@t"] > 0.8
    assert {"ECE@1", "Brier@5", "RP@3", "F1@5", "micro-F1@5", "macro-F1@t", "F1@t"} <= set(found)


def test_calibrate(files: Path) -> None:
    out = files / "m2"
    assert "ECE@1" in zipfel("calibrate", files / "m", files / "other.jsonl", "--out", out)
    before, after = (
        [json.loads(line) for line in zipfel("predict", folder, files / "test.jsonl", "--json").splitlines()]
        for folder in (files / "m", out)
    )
    assert [row["labels"] for row in before] == [row["labels"] for row in after]
    assert [row["scores"] for row in before] != [row["scores"] for row in after]
    facts = json.loads(zipfel("calibrate", files / "m", files / "other.jsonl", "--out", out, "--json"))
    assert len(facts["micro"]) == 3


def test_wrong_words_are_told(files: Path) -> None:
    for words, told in (
        (("--threshold", "half"), "a threshold is a number"),
        (("--optimise", "f2"), "no metric 'f2'"),
        (("--together",), "name it with optimise"),
        (("--language", "fr"), "no names in language"),
    ):
        done = CliRunner().invoke(app, ["predict", str(files / "m"), str(files / "test.jsonl"), *words])
        assert done.exit_code != 0
        assert told in str(done.exception)


def test_a_report_per_label(files: Path) -> None:
    shown = zipfel("labels", "report", files / "m", files / "other.jsonl", "--threshold", "auto")
    assert "most missed" in shown
    assert "x:3" in shown
    found = json.loads(zipfel("labels", "report", files / "m", files / "other.jsonl", "-k", "1", "--json"))
    n_tags = sum(len(json.loads(line)["labels"]) for line in (files / "other.jsonl").read_text().splitlines())
    assert sum(row["support"] for row in found["labels"]) == n_tags
    assert found["most_missed"][0]["label"] == "x:3"
    file = files / "labels.csv"
    zipfel("labels", "report", files / "m", files / "test.jsonl", "--csv", file, "--sort", "f1")
    assert file.read_text().splitlines()[0].startswith("label,bucket,train,support")
    assert zipfel("labels", "report", files / "m", files / "test.jsonl", "--csv", "-").count("\n") == 4
