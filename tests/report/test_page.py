"""The report: its numbers, its safety, and the page in a browser."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.test_main import zipfel
from zipfel import Zipfel
from zipfel.data import Dataset
from zipfel.errors import ParameterError
from zipfel.estimator.inputs import as_dataset
from zipfel.report import model_report
from zipfel.report.content import content_of
from zipfel.report.page import render

EVIL = "</script><script>alert(1)</script>"


def data() -> Dataset:
    texts = ["a red bike", "a blue boat", "a red boat", f"oil {EVIL}"] * 6
    return as_dataset(texts, [["bike"], ["boat"], ["boat", "red"], [EVIL]] * 6)


@pytest.fixture(scope="module")
def model() -> Zipfel:
    return Zipfel("knn", n_neighbors=3).fit(data())


def test_labels_with_their_scores(model: Zipfel) -> None:
    rows = {row[0]: row for row in content_of(model, data(), k=1).labels}
    assert rows["bike"][1:] == ["torso", 6, 6, 1.0, 1.0, 1.0, 0, 0]
    assert rows["red"][7] == 6 - rows["red"][3] * rows["red"][5]  # missed: support less hits


def test_worst_documents_come_first(model: Zipfel) -> None:
    worst = content_of(model, data(), k=1).worst
    assert worst[0].true == ["boat", "red"]  # one label of two can be hit with k=1


def test_worst_documents_of_numbers_are_explained() -> None:
    texts = data()
    rows = Zipfel("knn").fit(texts).rows_.read(texts)[0]
    numbers = as_dataset(rows, texts.Y)
    assert content_of(Zipfel("knn", n_neighbors=3).fit(numbers), numbers, k=1).worst[0].explained is not None


def test_parts_with_their_gains(model: Zipfel) -> None:
    plan = [
        {"part": "tree", "tried": True, "gain": 0.0123, "error": 0.004, "kept": True, "why": ""},
        {"part": "forest", "tried": False, "gain": None, "error": None, "kept": False, "why": "too many points"},
    ]
    content = content_of(model, data(), k=1)
    page = render(replace(content, training=replace(content.training, plan=plan)), "r")
    assert "<td>tree</td><td>yes</td><td>+1.23 ± 0.40</td><td>yes</td><td></td>" in page
    assert "<td>forest</td><td>no</td><td></td><td>no</td><td>too many points</td>" in page


def test_statistics_of_the_training_data(model: Zipfel) -> None:
    groups = content_of(model, data(), k=1).groups
    assert [row[1] for row in groups] == ["0", "4", "0"]
    assert groups[1][2:] == ["100.0 %", "100.0 %"]


def test_unknown_labels_of_the_test_data_have_a_name(model: Zipfel) -> None:
    found = content_of(model, as_dataset(["a red bike"], [["new"]]), k=1)
    assert [row[0] for row in found.labels] == ["new", "bike"]


def test_no_name_and_no_text_can_run(model: Zipfel) -> None:
    page = model_report(model, data(), title=EVIL)
    assert "alert(1)</script>" not in page
    assert len(re.findall("<script", page)) == 2
    inside = re.search(r'id="labels">(.*?)</script>', page, re.S)
    assert inside
    assert EVIL in [row[0] for row in json.loads(inside[1])]


def test_nothing_is_loaded_from_elsewhere(model: Zipfel) -> None:
    assert not re.findall(r"(?:src|href)=|url\(|@import|https?:", model_report(model, data()))


def test_command(model: Zipfel, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    (tmp_path / "test.jsonl").write_text('{"text": "a red bike", "labels": ["bike"]}\n')
    page = tmp_path / "r.html"
    done = zipfel("report", tmp_path / "model", tmp_path / "test.jsonl", "--html", page)
    assert done.exit_code == 0, done.output
    assert page.read_text().startswith("<!doctype html>")
    assert zipfel("report", tmp_path / "model", tmp_path / "test.jsonl", "--html", page).exit_code == 0  # its own
    page.write_text("my notes")
    with pytest.raises(ParameterError, match="--force"):
        zipfel("report", tmp_path / "model", tmp_path / "test.jsonl", "--html", page)
    assert page.read_text() == "my notes"


def test_in_a_browser(model: Zipfel, tmp_path: Path) -> None:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("needs Debian's chromium")
    sync_api = pytest.importorskip("playwright.sync_api")
    page_file = tmp_path / "report.html"
    page_file.write_text(model_report(model, data(), k=1), encoding="utf-8")
    flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
    with sync_api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=flags)
        page = browser.new_page()
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(page_file.as_uri())
        assert page.locator("#table tbody tr").count() == 4
        page.fill("#filter", "bo")
        assert page.locator("#table tbody tr td:first-child").all_inner_texts() == ["boat"]
        page.fill("#filter", "")
        page.click("#table th button[data-column='0']")
        names = page.locator("#table tbody tr td:first-child").all_inner_texts()
        assert [name for name in names if name.isalpha()] == ["bike", "boat", "red"]
        page.screenshot(path=str(tmp_path / "report.png"), full_page=True)
        browser.close()
    assert not errors
