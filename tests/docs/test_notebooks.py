"""The notebooks in docs/notebooks, kept as jupytext scripts: they run as programs, and as notebooks."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from tests.docs.pages import DOCS

NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.py"))


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS


@pytest.mark.parametrize("script", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs_as_a_program(script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = runpy.run_path(str(script))
    assert names["scores"]["P@1"] > 0.6
    assert names["page"].startswith("<!doctype html>")


@pytest.mark.slow
@pytest.mark.parametrize("script", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs_as_a_notebook(script: Path, tmp_path: Path) -> None:
    jupytext = pytest.importorskip("jupytext")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = jupytext.read(script)
    nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [str(output) for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any("<table>" in text for text in shown)  # a ranking as a notebook shows it
    assert sum("image/svg+xml" in text for text in shown) >= 3
