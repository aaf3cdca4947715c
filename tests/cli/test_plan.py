"""auto's plan as a table."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from typer.testing import CliRunner

from zipfel.cli.main import app
from zipfel.cli.plan import plan_table

ROWS = "".join(f'{{"text": "a {c} bike number {i}", "labels": ["{c}"]}}\n' for i in range(8) for c in ("red", "blue"))


def test_a_table_of_parts() -> None:
    tried = {"part": "forest", "tried": True, "why": "as well without it", "cost": 1.0, "gain": -0.001, "error": 0.002}
    tried |= {"likelihood": 0.012, "likelihood_error": 0.01}
    plan = [{**tried, "kept": False}, {**tried, "part": "words", "gain": None, "likelihood": None, "kept": True}]
    screen = Console(width=100, record=True)
    screen.print(plan_table(plan))
    shown = screen.export_text()
    assert "-0.10 ± 0.20" in shown
    assert "as well without it" in shown
    assert "+0.01 ± 0.01" in shown


def test_fit_shows_it_when_asked(tmp_path: Path) -> None:
    train = tmp_path / "train.jsonl"
    train.write_text(ROWS)
    words = ["fit", str(train), "--out", str(tmp_path / "m"), "--preset", "quick", "--explain-plan"]
    shown = CliRunner().invoke(app, words).output
    assert "classifiers" in shown
    assert "tried with --preset" in " ".join(shown.split())
