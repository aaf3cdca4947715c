"""Runs the commands of a `console` block: `zipfel` in this process, everything else as a program; pipes and `>`."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

from typer.testing import CliRunner

from zipfel.cli.main import app


def run_line(line: str, folder: Path) -> str:
    """Standard output of a line such as `echo text | zipfel predict model - > out.txt`; a failure is an error."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|>")
    lexer.whitespace_split = True
    words = list(lexer)
    target = None
    if ">" in words:
        place = words.index(">")
        target = folder / words[place + 1]
        words = words[:place] + words[place + 2 :]
    told = ""
    for command in _split(words):
        told = _run(command, told, folder)
    if target is not None:
        target.write_text(told, encoding="utf-8")
    return told


def _split(words: list[str]) -> list[list[str]]:
    commands: list[list[str]] = [[]]
    for word in words:
        if word == "|":
            commands.append([])
        else:
            commands[-1].append(word)
    return commands


def _run(words: list[str], told: str, folder: Path) -> str:
    if words[0] == "zipfel":
        done = CliRunner().invoke(app, words[1:], input=told, catch_exceptions=False)
        assert done.exit_code == 0, f"{shlex.join(words)} failed:\n{done.output}"
        return str(done.stdout)
    finished = subprocess.run(words, input=told, capture_output=True, text=True, cwd=folder, timeout=60, check=True)
    return finished.stdout
