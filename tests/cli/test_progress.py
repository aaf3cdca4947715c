"""What a terminal shows while a command works: one bar, gone at the end; remarks above it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from zipfel.cli.progress import TerminalProgress

pty = pytest.importorskip("pty")
ROWS = [{"text": f"red bike number {i} wheel {i % 7}", "labels": [f"label {i % 5}"]} for i in range(200)]


def on_terminal(*words: object, env: dict[str, str] | None = None) -> tuple[str, str]:
    """(stdout, what the terminal on stderr got)."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "zipfel", *map(str, words)]
    given = {**os.environ, "TERM": "xterm", "COLUMNS": "100", **(env or {})}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env=given) as process:
        os.close(theirs)
        told = b""
        while True:
            try:
                block = os.read(ours, 1 << 16)
            except OSError:
                break
            if not block:
                break
            told += block
        out = process.communicate(timeout=120)[0]
    os.close(ours)
    return out.decode(), told.decode("utf-8", "replace")


def test_a_fit_shows_one_bar_with_phases_and_leaves_nothing_behind(tmp_path: Path) -> None:
    train = tmp_path / "train.jsonl"
    train.write_text("".join(json.dumps(row) + "\n" for row in ROWS * 20))
    out, told = on_terminal("fit", train, "--method", "mnn", "--set", "epochs=2", "--out", tmp_path / "m", "-v")
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", told)
    assert "training the network" in plain
    assert re.search(r"\d %", plain)
    assert "\x1b[?25h" in told  # the cursor is back
    assert "mean P@1,3,5" in plain  # what is inside, with -v
    assert "mean P@1,3,5" not in out
    assert len(out.splitlines()) == 1
    frames = plain.split("\r")
    assert all(frame.count("━") <= 24 for frame in frames)  # one bar, of 24 signs


def test_without_a_terminal_there_is_no_bar(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    progress = TerminalProgress("knn")
    with progress, progress.task("index", total=10) as task:
        task.advance(5, loss=0.25)
        phase, fraction, _, shown = progress.state()
    assert (phase, shown) == ("indexing documents", "loss 0.25")
    assert fraction is not None
    assert 0.1 < fraction < 0.9
    assert capfd.readouterr() == ("", "")


def test_a_task_alone_shows_its_own_share() -> None:
    progress = TerminalProgress()
    with progress.task("evaluating", total=8) as task:
        task.advance(2)
        assert progress.state()[1] == 0.25
    with progress.task("reading") as task:
        task.advance(1200)
        assert progress.state()[1:] == (None, "", "1,200")
