"""No slow test of this folder can hang: after a limit, all processes that it started are killed, and it fails."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any

import pytest

LIMIT = 1800
"""Seconds; without other programs the slowest test takes a twentieth of that."""


@pytest.fixture(autouse=True)
def _ends(request: pytest.FixtureRequest) -> Iterator[None]:
    if request.node.get_closest_marker("slow") is None:
        yield
        return
    import psutil

    def stop(*_: Any) -> None:
        for child in psutil.Process().children(recursive=True):
            child.kill()
        raise TimeoutError(f"the test did not end within {LIMIT} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(LIMIT)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
