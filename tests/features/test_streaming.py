"""Chunks and ordered work in threads."""

from __future__ import annotations

import time

import pytest

from zipfel.features.streaming import chunks, in_order
from zipfel.system.threads import use_threads


def test_chunks_end_when_they_are_long_enough() -> None:
    assert list(chunks(["aaaa", "b", "c" * 20, "", ""], 7)) == [["aaaa", "b"], ["c" * 20], ["", ""]]
    assert list(chunks([], 7)) == []


@pytest.mark.parametrize("threads", [1, 4])
def test_results_come_in_order(threads: int) -> None:
    def slow_at_first(i: int) -> int:
        time.sleep(0.02 if i == 0 else 0)
        return i

    with use_threads(threads):
        assert list(in_order(slow_at_first, range(50))) == list(range(50))


@pytest.mark.parametrize("threads", [1, 4])
def test_an_error_reaches_the_caller(threads: int) -> None:
    with use_threads(threads), pytest.raises(ZeroDivisionError):
        list(in_order(lambda i: 1 // (i - 3), range(10)))
