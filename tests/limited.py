"""Runs Python code in a process of its own with limits of time and memory, so that a hang or a bomb fails a test."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_BEGIN = """
import resource, sys
seconds, megabytes = int(sys.argv.pop(1)), int(sys.argv.pop(1))
{imports}
used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + megabytes * 2**20,) * 2)
now = resource.getrusage(resource.RUSAGE_SELF)
seconds += int(now.ru_utime + now.ru_stime) + 1
resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
"""


def run_limited(code: str, *words: str | Path, seconds: int, megabytes: int, imports: str = "import zipfel") -> str:
    """What the code prints. imports: what is there before the limits hold, which count from then on."""
    whole = _BEGIN.format(imports=imports) + code
    command = [sys.executable, "-c", whole, str(seconds), str(megabytes), *map(str, words)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60 + 4 * seconds)
    assert done.returncode == 0, f"exit {done.returncode}: {done.stderr[-2000:]}"
    return done.stdout
