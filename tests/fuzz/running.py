"""Cases tried in processes with limits of time and memory: a crash, a hang or a bomb costs one case, not the search."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FINE = ("refused", "answers")


@dataclass(frozen=True)
class Outcome:
    case: Any
    came: str

    @property
    def is_fine(self) -> bool:
        return self.came in FINE


@contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    """Ends the process after so many seconds of its own processor time, or of waiting twenty times as long: a busy
    machine makes no case slow."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.alarm(20 * seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)


def run_cases(
    module: str, cases: Sequence[Any], megabytes: int, new: list[dict[str, str]] | None = None
) -> Iterator[Outcome]:
    """Outcomes in order; the module is run with --child, is told cases as JSON lines, and answers each.

    new: gets the cases of which the module says that they reached something new.
    """
    rest = list(cases)
    while rest:
        seen = 0
        for outcome in _run(module, rest, megabytes, [] if new is None else new):
            seen += 1
            yield outcome
        if not seen:
            raise RuntimeError(f"{module} ended before the first case")
        rest = rest[seen:]


def _run(module: str, cases: Sequence[Any], megabytes: int, new: list[dict[str, str]]) -> Iterator[Outcome]:
    """One process, until it ends: by itself or by the case that it was trying."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, ((3000 + megabytes) << 20,) * 2)  # libraries map some GB without use
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    with subprocess.Popen(
        [sys.executable, "-m", module, "--child"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        preexec_fn=limit,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("".join(json.dumps(case) + "\n" for case in cases))
        process.stdin.close()
        trying = None
        for line in process.stdout:
            word, _, told = line.partition(" ")
            if word == "try":
                trying = json.loads(told)
            elif word == "new":
                new.append(json.loads(told))
            elif word == "came":
                yield Outcome(trying, told.strip())
                trying = None
        process.wait()
        if trying is not None:
            yield Outcome(trying, f"ends the process: {process.returncode}")
