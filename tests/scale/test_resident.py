from __future__ import annotations

import time

import numpy as np
import pytest

from zipfel.errors import ParameterError
from zipfel.scale.resident import held_memory, parse_bytes, watched
from zipfel.system.interrupts import Halted, check_halted


@pytest.mark.parametrize("text", ["", "8", "-1GB", "0", "8 apples", "GB", "1e9", "nanGB"])
def test_amounts_that_are_none_are_refused(text: str) -> None:
    if text == "8":
        assert parse_bytes(text) == 8
        return
    with pytest.raises(ParameterError, match="8GB"):
        parse_bytes(text)


def test_memory_is_watched_and_the_work_halted() -> None:
    before = held_memory()
    with watched() as watch:
        block = np.ones(20_000_000)
        time.sleep(0.1)
        del block
    assert 150_000_000 < watch.peak - before < 300_000_000
    assert not watch.is_over
    with pytest.raises(Halted):
        too_much(before + 50_000_000)
    check_halted()


def too_much(limit: int) -> None:
    with watched(limit) as watch:
        block = np.ones(20_000_000)
        while len(block):
            time.sleep(0.02)
            assert watch.limit == limit
            check_halted()
