"""The page in a real browser: typing, reasons, feedback, settings, themes, faults, accessibility, screenshots."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")
pytest.importorskip("playwright", reason="needs playwright (extra dev)")

from tests.serve.browsing import browser, keep, page_of
from tests.serve.serving import TEXTS, running
from zipfel import Zipfel, datasets

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

EVIL = "<script>alert(1)</script>"
TEXT = "A fast and small web browser for the terminal, with tables"
N_DOCUMENTS = 5000


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def files(chrome: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model, its training file and one label whose name is a script."""
    place = tmp_path_factory.mktemp("page")
    train, _ = datasets.load("debian-tags")
    texts = [str(text) for text in (train.texts or [])[:N_DOCUMENTS]]
    names = train.label_names or []
    tags = [[names[i] for i in train.Y[row].indices] for row in range(N_DOCUMENTS)]
    tags = [[*own, EVIL] if "browser" in text else own for text, own in zip(texts, tags, strict=True)]
    lines = [json.dumps({"text": text, "labels": own}) for text, own in zip(texts, tags, strict=True)]
    (place / "train.jsonl").write_text("\n".join(lines) + "\n")
    Zipfel(preset="quick").fit(texts, tags).save(place / "tags")
    return place


@pytest.fixture(scope="module")
def address(files: Path) -> Iterator[str]:
    with running(files / "tags", "--train", files / "train.jsonl", "--quiet", "--feedback", files / "feedback") as (
        found,
        _,
    ):
        yield found


@pytest.fixture
def page(chrome: Browser, address: str) -> Iterator[Page]:
    with page_of(chrome, address) as opened:
        yield opened


def typed(page: Page, text: str = TEXT) -> None:
    """Types, and waits for the labels."""
    page.locator("#text").press_sequentially(text)
    page.locator("#labels > li").nth(4).wait_for()
    page.wait_for_function("document.querySelector('#speed').textContent !== ''")


def test_labels_come_while_a_text_is_typed(page: Page) -> None:
    page.locator("#empty").get_by_text("No text yet").wait_for()
    typed(page)
    rows = page.locator("#labels > li")
    assert rows.count() == 5
    shares = [float(score.removesuffix(" %")) for score in page.locator("#labels .score").all_inner_texts()]
    assert all(0 <= share <= 100 for share in shares)
    assert page.locator("#size").inner_text() == f"{len(TEXT)} characters"
    page.locator("#status").get_by_text("5 labels; the first is").wait_for(state="attached")


def test_a_label_shows_its_words_evidence_and_nearest_documents(page: Page) -> None:
    typed(page)
    name = page.locator("#labels .name", has_text="web::browser")
    name.click()
    page.locator("#shadow mark.for", has_text="browser").first.wait_for(state="attached")
    why = page.get_by_role("region", name="Why web::browser")
    assert "browser" in why.locator(".chips").inner_text()
    assert why.locator(".evidence .bar").count() >= 2
    assert "browser" in why.locator(".nearest").inner_text().lower()
    assert page.locator("#shadow").text_content() == TEXT + "\n"
    page.locator("#text").press_sequentially(" and frames")  # the marks stay beside their words
    assert page.locator("#shadow mark.for", has_text="browser").count() >= 1
    name.click()
    page.locator("#shadow mark").first.wait_for(state="detached")


def test_verdicts_are_kept_as_feedback(page: Page, files: Path) -> None:
    typed(page)
    first, second = page.locator("#labels .name").nth(0).inner_text(), page.locator("#labels .name").nth(1).inner_text()
    page.get_by_role("button", name=f"Accept {first}").click()
    page.get_by_role("button", name=f"Reject {second}").click()
    page.get_by_role("combobox", name="Add a label").press_sequentially("editing")
    page.get_by_role("option", name="use::editing").wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.locator("#own-labels .name").inner_text() == "use::editing"
    assert page.locator("#verdicts").inner_text() == "2 accepted, 1 rejected"
    page.get_by_role("button", name="Save feedback").click()
    page.get_by_role("button", name="Saved").wait_for()
    page.get_by_role("button", name=f"Accept {first}").click()  # taken back
    page.get_by_role("button", name="Save feedback").click()
    page.get_by_role("button", name="Saved").wait_for()
    with sqlite3.connect(files / "feedback") as kept:
        rows = kept.execute("SELECT label, accepted FROM feedback WHERE text = ? ORDER BY id", (TEXT,)).fetchall()
    assert dict(rows) == {first: None, second: 0, "use::editing": 1}


def test_the_number_of_labels_and_the_threshold(page: Page) -> None:
    typed(page)
    page.locator("#k").fill("8")
    page.locator("#labels > li").nth(7).wait_for()
    page.locator("#threshold").fill("80")
    page.locator("#labels > li").nth(7).wait_for(state="detached")
    assert all(float(score.removesuffix(" %")) >= 80 for score in page.locator("#labels .score").all_inner_texts())
    assert page.locator("#threshold-out").inner_text() == "80 %"
    page.locator("#threshold").fill("95")
    page.locator("#text").fill("qwertz")  # the model knows no word of it
    page.locator("#empty").get_by_text("No label is that probable").wait_for()


def test_an_empty_text_has_no_labels(page: Page) -> None:
    typed(page)
    page.get_by_role("button", name="Clear").click()
    page.locator("#empty").get_by_text("No text yet").wait_for()
    assert page.locator("#labels > li").count() == 0
    page.locator("#text").press_sequentially("   ")
    page.wait_for_timeout(300)
    assert page.locator("#labels > li").count() == 0


def test_examples_are_texts_of_the_training_data(page: Page) -> None:
    example = page.locator(".example").first
    example.click()
    page.locator("#labels > li").first.wait_for()
    assert page.locator("#text").input_value() == example.inner_text()


def test_the_theme_follows_the_system_until_one_is_chosen(chrome: Browser, address: str) -> None:
    with page_of(chrome, address, color_scheme="dark") as page:
        background = "getComputedStyle(document.body).backgroundColor"
        dark = page.evaluate(background)
        toggle = page.get_by_role("button", name="Dark mode")
        assert toggle.get_attribute("aria-pressed") == "true"
        toggle.click()
        light = page.evaluate(background)
        assert light != dark
        page.reload()
        assert page.evaluate(background) == light


def test_it_works_by_keyboard_alone(page: Page) -> None:
    typed(page)
    page.locator("#labels button.label").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("a")
    assert page.locator("#labels > li").nth(1).get_attribute("class") == "accepted"
    page.keyboard.press("r")
    assert page.locator("#labels > li").nth(1).get_attribute("class") == "rejected"
    page.keyboard.press("Enter")
    page.locator("#labels .evidence").wait_for()
    page.keyboard.press("Escape")
    assert page.locator("#labels .why:visible").count() == 0
    assert page.evaluate("document.activeElement.className") == "label"
    page.reload()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"


def test_a_name_that_is_a_script_is_shown_and_not_run(page: Page) -> None:
    typed(page, "a web browser browser")
    page.locator("#k").fill("20")
    row = page.locator("#labels .name", has_text=EVIL)
    row.wait_for()
    assert row.inner_text() == EVIL
    row.click()
    page.get_by_role("region", name=f"Why {EVIL}").locator(".evidence").wait_for()
    page.locator("#text").fill("<img src=x onerror=alert(2)> " + EVIL)
    page.wait_for_timeout(400)
    assert page.locator("img[src=x], #shadow script, #labels script").count() == 0


def test_a_service_that_is_down_and_comes_back(chrome: Browser, files: Path) -> None:
    with running(files / "tags", "--quiet", "--read-only") as (address, process):
        port = address.rpartition(":")[2]
        with page_of(chrome, address, faults=("ERR_", "Failed to load")) as page:
            typed(page, "a text editor")
            process.kill()
            process.wait()
            page.locator("#text").press_sequentially(" for the terminal")
            page.get_by_role("alert").get_by_text("be reached").wait_for()
            assert page.locator("#text").input_value() == "a text editor for the terminal"
            with running(files / "tags", "--quiet", "--read-only", port=port):
                page.locator("#alert").wait_for(state="hidden")
                page.locator("#labels > li").first.wait_for()


def test_a_token_is_asked_for(chrome: Browser, files: Path) -> None:
    with (
        running(files / "tags", "--quiet", "--read-only", env={"ZIPFEL_TOKENS": "secret-1"}) as (address, _),
        page_of(chrome, address, faults=("401",)) as page,
    ):
        page.get_by_label("This service needs a token").fill("secret-1")
        page.get_by_role("button", name="Use it").click()
        page.locator("#about").get_by_text("knows").wait_for()
        typed(page)
        assert page.locator("#teach").is_hidden()  # it is read-only


def test_names_in_the_chosen_language(chrome: Browser, tmp_path: Path) -> None:
    names = {"bike": "Fahrrad", "boat": "Boot", "car": "Auto", "train": "Zug"}
    rows = [f'ex:{i} skos:prefLabel "{e}"@en, "{g}"@de ; a skos:Concept .' for i, (e, g) in enumerate(names.items())]
    head = "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n@prefix ex: <http://example.org/> .\n"
    (tmp_path / "things.ttl").write_text(head + "\n".join(rows))
    tags = [[text.split()[1]] for text in TEXTS]
    Zipfel(method="knn").fit(TEXTS, tags, vocabulary=tmp_path / "things.ttl").save(tmp_path / "things")
    with running(tmp_path / "things", "--quiet") as (address, _), page_of(chrome, address) as page:
        page.locator("#text").fill("a red bike")
        page.locator("#language").select_option("de")
        page.locator("#labels .name", has_text="Fahrrad").wait_for()


@pytest.mark.parametrize(
    ("size", "scheme"), [("desktop", "light"), ("desktop", "dark"), ("tablet", "light"), ("phone", "dark")]
)
def test_screenshots_and_axe(chrome: Browser, address: str, size: str, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python (extra dev)")
    with page_of(chrome, address, size=size, color_scheme=scheme, reduced_motion="reduce") as page:
        page.locator(".example").first.wait_for()
        _check(axe, page, f"{size}-{scheme}-start")
        typed(page)
        page.locator("#labels .name", has_text="web::browser").click()
        page.locator("#labels .evidence").wait_for()
        page.locator("#labels .accept").first.click()
        page.locator("#labels .reject").nth(3).click()
        _check(axe, page, f"{size}-{scheme}-why")
        page.get_by_role("link", name="Model card").click()
        page.locator("#card .facts").wait_for()
        _check(axe, page, f"{size}-{scheme}-card")
        page.get_by_role("link", name="API").click()
        page.locator("summary").first.click()
        _check(axe, page, f"{size}-{scheme}-api")


def _check(axe: object, page: Page, name: str) -> None:
    """Keeps a screenshot; nothing sticks out at the side, and axe finds nothing serious."""
    keep(page, name)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{name} scrolls sideways"
    found = axe.Axe().run(page).response["violations"]  # type: ignore[attr-defined]
    serious = [(v["id"], v["nodes"][0]["html"]) for v in found if v["impact"] in ("serious", "critical")]
    assert not serious, serious


def test_the_description_of_the_api_can_be_tried(page: Page) -> None:
    page.get_by_role("link", name="API").click()
    call = page.locator("details", has=page.locator(".path", has_text="/v1/predict"))
    call.locator("summary").click()
    call.get_by_role("button", name="Send").click()
    call.get_by_text('"results"').wait_for()
    assert "curl" in call.locator("pre").first.inner_text()
