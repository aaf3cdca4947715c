"""Tables go into the method's page, between `<!-- table: NAME -->` and `<!-- end -->`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

PAGES = Path(__file__).resolve().parents[2] / "docs" / "methods"


def put(paper: str, table: str, text: str, picture: Path | None = None, pages: Path = PAGES) -> bool:
    """Replaces what stands between the table's marks by the Markdown and, where its marks ask for one, the picture.

    The marks are in the paper's page, in PAPER-tables.md or in PAPER-figures.md.

    `<!-- table: accuracy, picture -->` asks for it. False where the page has no such marks.
    """
    marks = re.compile(rf"(<!-- table: {re.escape(table)}(, picture)? -->\n).*?(<!-- end -->)", re.DOTALL)
    page, before, found = next(_with_marks(marks, pages, paper), (pages, "", None))
    if found is None:
        return False
    body = text.rstrip() + "\n"
    if found[2] and picture is not None:
        title = body.partition("\n")[0].lstrip("# ")
        body += f"\n![{title}]({Path(os.path.relpath(picture, pages)).as_posix()})\n"
    page.write_text(before[: found.start()] + found[1] + body + found[3] + before[found.end() :], encoding="utf-8")
    return True


def _with_marks(marks: re.Pattern[str], pages: Path, paper: str) -> Iterator[tuple[Path, str, re.Match[str]]]:
    for name in (paper, f"{paper}-tables", f"{paper}-figures"):
        page = pages / f"{name}.md"
        before = page.read_text(encoding="utf-8") if page.is_file() else ""
        if (found := marks.search(before)) is not None:
            yield page, before, found
