"""Commands whose workers are killed at random moments."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time
from dataclasses import dataclass

import numpy as np
import psutil

QUIET = ("ray::Dash", "ray::Runtime", "ray::TrainController", "ray::_launch", "ray::Placement", "ray::Synchron")
"""Ray's own processes, and those that lead the workers of a network: not workers."""


@dataclass(frozen=True)
class Outcome:
    code: int
    out: bytes
    killed: tuple[str, ...]
    """Names of the processes that were killed."""


def zipfel_command(*words: object) -> list[str]:
    return [sys.executable, "-m", "zipfel", *map(str, words)]


def workers_of(pid: int) -> list[psutil.Process]:
    """Ray's task processes under a process."""
    found = []
    with contextlib.suppress(psutil.NoSuchProcess):
        for child in psutil.Process(pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                name = child.name()
                found += [child] * (name.startswith("ray::") and not name.startswith(QUIET))
    return found


def run_and_kill(command: list[str], seed: int, *, kills: int, pause: float, kind: str = "ray::") -> Outcome:
    """Runs the command. After random pauses of this many seconds on average, a random worker whose name begins with
    `kind` is killed, so many times at most."""
    rng, killed, found = np.random.default_rng(seed), [], []
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        reader = threading.Thread(target=lambda: found.append(process.stdout.read()), daemon=True)  # type: ignore[union-attr]
        reader.start()
        while process.poll() is None and len(killed) < kills:
            time.sleep(rng.exponential(pause))
            victims = [worker for worker in workers_of(process.pid) if worker.name().startswith(kind)]
            if victims:
                victim = victims[rng.integers(len(victims))]
                killed.append(victim.name())
                victim.kill()
        reader.join()
    return Outcome(process.returncode, found[0], tuple(killed))


def run_and_kill_driver(command: list[str], after: float) -> bool:
    """Runs the command, and kills its first process after so many seconds; whether it was still at work."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            process.wait(timeout=after)
        except subprocess.TimeoutExpired:
            below = psutil.Process(process.pid).children(recursive=True)
            process.kill()
            psutil.wait_procs(below, timeout=120)
            return True
    return False
