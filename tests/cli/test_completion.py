"""What the shell completes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("zipfel fi", ["fit"]),
        ("zipfel fit --method li", ["lightdxml"]),
        ("zipfel fit --method auto --preset q", ["quick"]),
        ("zipfel data convert --format arf", ["arff"]),
    ],
)
def test_bash(line: str, found: list[str]) -> None:
    asked = {"_ZIPFEL_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
    done = subprocess.run(
        [sys.executable, "-m", "zipfel"], env={**os.environ, **asked}, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.split() == found
