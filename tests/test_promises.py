"""The page of promises names tests that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
NAMED = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_the_test_of_each_promise_exists(file: str, name: str) -> None:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_promise_has_one() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| Promise")]
    assert len(rows) > 25
    assert all("`tests/" in row for row in rows)
