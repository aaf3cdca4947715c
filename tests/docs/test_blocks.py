"""Every `console`, `python` and `pycon` block of README and the docs is executed, page by page, in an empty folder."""

from __future__ import annotations

import doctest
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import ROOT, Block, blocks, pages
from tests.docs.shell import run_line
from zipfel import datasets
from zipfel.data import write

LANGUAGES = ("console", "python", "pycon")
PAGES = [page for page in pages() if blocks(page, *LANGUAGES)]
OPTIONAL = ("pandas", "sklearn", "pyspark", "dask", "matplotlib")
"""Packages that a page may need and that are not installed everywhere."""


@pytest.fixture(scope="module")
def small_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with train.jsonl and test.jsonl, a few documents of the bundled data."""
    folder = tmp_path_factory.mktemp("data")
    for name, dataset in zip(("train", "test"), datasets.load("debian-tags"), strict=True):
        write(dataset.take(range(300 if name == "train" else 60)), folder / f"{name}.jsonl")  # type: ignore[arg-type]
    return folder


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_run(page: Path, small_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for file in small_data.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "page"}
    try:
        for block in blocks(page, *LANGUAGES):
            run(block, page, names, tmp_path)
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in OPTIONAL:
            raise
        pytest.skip(f"{page.name} needs {error.name}")


def run(block: Block, page: Path, names: dict[str, Any], folder: Path) -> None:
    place = f"{page.relative_to(ROOT)}:{block.line}"
    if block.language == "console":
        for line in block.code.splitlines():
            if line.startswith("$ "):
                run_line(line[2:], folder)
    elif block.language == "python":
        exec(compile("\n" * (block.line - 1) + block.code, str(page), "exec"), names)
    else:
        test = doctest.DocTestParser().get_doctest(block.code, names, place, str(page), block.line)
        told: list[str] = []
        outcome = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=told.append, clear_globs=False)
        names.update(test.globs)
        assert not outcome.failed, f"{place}\n{''.join(told)}"


def test_a_wrong_block_is_noticed(tmp_path: Path) -> None:
    page = ROOT / "README.md"
    with pytest.raises(AssertionError):
        run(Block("pycon", ">>> 1 + 1\n3\n", 1), page, {}, tmp_path)
    with pytest.raises(ZeroDivisionError):
        run(Block("python", "1 / 0\n", 1), page, {}, tmp_path)
    with pytest.raises(Exception, match=r"nothing\.jsonl"):
        run(Block("console", "$ zipfel data stats nothing.jsonl\n", 1), page, {}, tmp_path)
