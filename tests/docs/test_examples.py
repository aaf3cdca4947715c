"""Every example of the README and the docs runs: python and pycon blocks, and console commands with their output.

A console block holds lines "$ command", each followed by what it prints, if anything is shown. A shown line must
appear in the real output up to its first digit, as times and scores differ between machines. Blocks of other
languages are not run.
"""

from __future__ import annotations

import doctest
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from zipfel import datasets

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```(python|pycon|console)[^\n]*\n(.*?)^```", re.S | re.M)
_ROWS = {"train": 300, "test": 60}


@dataclass(frozen=True)
class Block:
    kind: str
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [Block(m[1], m[2], text.count("\n", 0, m.start()) + 1) for m in BLOCK.finditer(text)]


@pytest.fixture(scope="module")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundled")
    for part, rows in _ROWS.items():
        datasets.write("debian-tags", part, folder / f"{part}.all")
        with (folder / f"{part}.all").open(encoding="utf-8") as file:
            (folder / f"{part}.jsonl").write_text("".join(line for line, _ in zip(file, range(rows), strict=False)))
    return folder


@pytest.fixture
def work(bundled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with train.jsonl and test.jsonl, and a `zipfel` command."""
    for part in _ROWS:
        (tmp_path / f"{part}.jsonl").write_bytes((bundled / f"{part}.jsonl").read_bytes())
    command = tmp_path / ".bin" / "zipfel"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m zipfel "$@"\n')
    command.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{command.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return tmp_path


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p)], ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_run(page: Path, work: Path) -> None:
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(page):
        where = f"{page.relative_to(ROOT)}:{block.line}"
        if block.kind == "python":
            exec(compile(block.text, where, "exec"), names)
        elif block.kind == "pycon":
            run_doctest(block, where, names)
        else:
            run_console(block, where, work)


def run_doctest(block: Block, where: str, names: dict[str, object]) -> None:
    test = doctest.DocTestParser().get_doctest(block.text, names, where, where, block.line)
    test.globs = names  # later blocks go on with the names of earlier ones
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert not runner.run(test, out=report.append, clear_globs=False).failed, "".join(report)


def run_console(block: Block, where: str, folder: Path) -> None:
    for command, shown in commands(block.text):
        done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, f"{where}: {command}\n{done.stderr}"
        assert "Traceback" not in done.stderr, f"{where}: {command}\n{done.stderr}"
        for line in shown:
            start = re.split(r"\d|\.\.\.", line, maxsplit=1)[0].strip()
            assert start in done.stdout + done.stderr, f"{where}: {command} does not print {start!r}:\n{done.stdout}"


def commands(text: str) -> list[tuple[str, list[str]]]:
    """(command, shown lines); a line that ends with a backslash goes on."""
    found: list[tuple[str, list[str]]] = []
    for line in text.replace("\\\n", " ").splitlines():
        if line.startswith("$ "):
            found.append((line.removeprefix("$ ").strip(), []))
        elif line.strip():
            found[-1][1].append(line)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_json_blocks_are_json(page: Path) -> None:
    for text in re.findall(r"^```json\n(.*?)^```", page.read_text(encoding="utf-8"), re.S | re.M):
        for line in text.strip().splitlines() if text.count("\n{") or text.count("\n") == 1 else [text]:
            json.loads(line)
