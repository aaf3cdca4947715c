"""The code blocks of the Markdown pages."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


@dataclass(frozen=True)
class Block:
    """language: of the fence; line: where it begins in the page."""

    language: str
    code: str
    line: int


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


def blocks(page: Path, *languages: str) -> list[Block]:
    """The fenced blocks of a page in these languages."""
    text = page.read_text(encoding="utf-8")
    fences = re.finditer(r"^```(\w+)[^\n]*\n(.*?)^```", text, re.M | re.S)
    return [Block(m[1], m[2], text[: m.start()].count("\n") + 2) for m in fences if m[1] in languages]
