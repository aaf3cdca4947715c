"""How much memory this process holds: asked at any time, and watched while it works."""

from __future__ import annotations

import re
import resource
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from zipfel.errors import ParameterError
from zipfel.system.interrupts import Halt, current_halt, halted_by

_STATUS = Path("/proc/self/status")
_KINDS = "Rss(?:Anon|Shmem)", "RssFile"
_LOOK = 0.02
"""Seconds between two looks."""
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


def parse_bytes(text: str) -> int:
    """A number of bytes, as people write it.

    >>> parse_bytes("8GB"), parse_bytes("1.5 GiB"), parse_bytes("500m")
    (8000000000, 1610612736, 500000000)
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]i?|)b?\s*", text.lower())
    if found is None or float(found[1]) == 0:
        raise ParameterError(f"an amount of memory is a number with MB, GB, MiB or GiB, e.g. 8GB; got {text!r}")
    return round(float(found[1]) * _UNITS[found[2]])


def held_memory() -> int:
    """Bytes of the resident set without files that are mapped: the system takes these back whenever it needs memory.
    Where it does not tell, the largest resident set so far."""
    return _resident()[0]


def _resident() -> tuple[int, int]:
    """(bytes of its own, bytes of files that are mapped); both are in the resident set."""
    if not _STATUS.exists():
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most << 10, 0
    text = _STATUS.read_text()
    own, mapped = (re.findall(rf"^{kind}:\s+(\d+) kB", text, flags=re.MULTILINE) for kind in _KINDS)
    return sum(map(int, own)) << 10, sum(map(int, mapped)) << 10


class Watch:
    """limit: bytes of `held_memory` at which the work is halted; none: it is only watched."""

    def __init__(self, limit: int | None) -> None:
        self.limit, self.halt = limit, Halt(current_halt())
        self._own, self._mapped = _resident()
        self._counts_peaks = _reset_peak()

    @property
    def peak(self) -> int:
        """The most that was held since the watch began."""
        short = (_highest() - self._mapped) if self._counts_peaks else 0
        return max(self._own, short)

    @property
    def is_over(self) -> bool:
        return self.limit is not None and self.peak > self.limit

    def look(self) -> None:
        own, mapped = _resident()
        self._own, self._mapped = max(self._own, own), max(self._mapped, mapped)
        if self.is_over:
            self.halt.set()


@contextmanager
def watched(limit: int | None = None) -> Iterator[Watch]:
    """Watches the memory of the work in the block; above the limit `check_halted` raises `Halted` in it."""
    watch, ended = Watch(limit), threading.Event()

    def look() -> None:
        while not ended.wait(_LOOK):
            watch.look()

    thread = threading.Thread(target=look, name="zipfel-memory", daemon=True)
    thread.start()
    try:
        with halted_by(watch.halt):
            yield watch
    finally:
        ended.set()
        thread.join()


def _reset_peak() -> bool:
    """Resets the system's record of the largest resident set; False if the system cannot."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return _highest() > 0


def _highest() -> int:
    found = re.search(r"^VmHWM:\s+(\d+) kB", _STATUS.read_text(), flags=re.MULTILINE) if _STATUS.exists() else None
    return 0 if found is None else int(found[1]) << 10
