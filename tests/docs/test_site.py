"""The site: every page is in the navigation, links lead somewhere, tables come from their data."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, ROOT, pages

GENERATED = {"reference/cli.md", "reference/python.md", "reference/methods.md"}


def anchors(page: Path) -> set[str]:
    heads = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", head).strip().lower().replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.S)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"https?:|#", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve()
        if str(target.relative_to(ROOT / "docs" if ROOT / "docs" in target.parents else ROOT)) in GENERATED:
            continue
        assert target.exists(), f"{page.name} links to {link}"
        assert not anchor or anchor in anchors(target), f"{page.name} links to {link}"


def test_every_page_is_in_the_navigation() -> None:
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    named = set(re.findall(r": ([\w/.-]+\.md)$", nav, re.M))
    assert named == {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")} | GENERATED


def test_the_readme_is_short_and_its_table_is_that_of_the_data(tmp_path: Path) -> None:
    sys.path.insert(0, str(ROOT / "scripts"))
    from docs_tables import chosen_systems_table  # type: ignore[import-not-found]
    from peers_table import SHOWN  # type: ignore[import-not-found]

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) < 120
    assert chosen_systems_table(SHOWN) in text


def test_pages_hold_no_lab_book() -> None:
    """Figures stand in tables and data files, not in sentences."""
    for page in pages():
        text = re.sub(r"^\|.*$|^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
        assert len(re.findall(r"\d\.\d", text)) < 60, page.name


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=600, env={**os.environ})
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "site" / "how-auto-works.html").read_text(encoding="utf-8")
    assert "classifiers" in page
    assert "<!-- rules -->" not in page
    local = [p for p in re.findall(r'(?:src|href)="(https?:[^"]+)"', page) if "zipfel" not in p]
    assert all(re.match(r"https://squidfunk.github.io", link) for link in local), local
