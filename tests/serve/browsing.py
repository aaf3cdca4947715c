"""Chromium from the system's packages, driven by Playwright: pages that report every error of theirs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SCREENSHOTS = Path(__file__).resolve().parents[2] / "build" / "screenshots"
SIZES = {"desktop": (1280, 900), "tablet": (820, 1100), "phone": (390, 844)}


def chromium() -> str:
    """Path of the browser; the test is skipped where there is none."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        found = shutil.which(name)
        if found:
            return found
    pytest.skip("needs Chromium: apt-get install chromium (`make test` does it as root)")


@contextmanager
def browser() -> Iterator[Browser]:
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright (extra dev)")
    path = chromium()
    alone = ["--no-sandbox"] if os.geteuid() == 0 else []
    with playwright.sync_playwright() as started:
        running = started.chromium.launch(executable_path=path, args=alone)
        yield running
        running.close()


@contextmanager
def page_of(browser: Browser, address: str, *, size: str = "desktop", **context: Any) -> Iterator[Page]:
    """The page at this address. At the end of the block it must not have had an error, a refused script or a dialog.

    faults: what the page may say, none unless told otherwise.
    """
    width, height = SIZES[size]
    allowed = context.pop("faults", ())
    opened = browser.new_context(viewport={"width": width, "height": height}, **context)
    page = opened.new_page()
    page.set_default_timeout(30_000)
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: (said.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.goto(address)
    yield page
    opened.close()
    unexpected = [line for line in said if not any(word in line for word in allowed)]
    assert not unexpected, unexpected


def keep(page: Page, name: str) -> None:
    """Keeps a screenshot as test output."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)
