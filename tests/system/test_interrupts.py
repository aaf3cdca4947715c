"""Signals in a Python program: put off while zipfel works, delivered at safe places."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from zipfel.system.interrupts import Halt, Halted, check_halted, halted_by, hold_signals, holding_signals
from zipfel.system.threads import at_once, over_blocks, use_threads


@pytest.fixture(autouse=True)
def _usual_handler() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.01)  # Python runs handlers between two steps


def test_ctrl_c_waits_for_the_next_safe_place() -> None:
    went_on = False
    with pytest.raises(KeyboardInterrupt), hold_signals():  # noqa: PT012
        interrupt()
        went_on = True
        check_halted()
        raise AssertionError("the safe place was passed")
    assert went_on
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_comes_at_the_end_of_the_block_at_the_latest() -> None:
    done = []

    @holding_signals
    def work() -> None:
        interrupt()
        done.append(1)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done
    with pytest.raises(KeyboardInterrupt):  # and afterwards it is as it was
        interrupt()


def test_a_handler_that_does_not_raise_only_runs() -> None:
    came: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _frame: came.append(number))
    with hold_signals():
        interrupt()
        assert not came
        check_halted()
        assert came == [signal.SIGINT]
    assert came == [signal.SIGINT]


def test_blocks_inside_are_one_block() -> None:
    with pytest.raises(KeyboardInterrupt), hold_signals():  # noqa: PT012
        with hold_signals():
            interrupt()
        check_halted()


def test_nothing_changes_in_other_threads() -> None:
    found: list[object] = []

    def work() -> None:
        with hold_signals():
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [signal.default_int_handler]


@pytest.mark.parametrize("threads", [1, 2])
def test_kernels_over_blocks_are_a_safe_place(threads: int) -> None:
    seen = np.zeros(10)

    def work(start: int, stop: int) -> None:
        seen[start:stop] += 1

    with use_threads(threads), pytest.raises(KeyboardInterrupt), hold_signals():  # noqa: PT012
        interrupt()
        over_blocks(work, 10)


def test_works_side_by_side_end_at_ctrl_c() -> None:
    begun = threading.Event()

    def long() -> None:
        begun.set()
        while True:
            check_halted()
            time.sleep(0.01)

    def interrupting() -> None:
        begun.wait()
        os.kill(os.getpid(), signal.SIGINT)
        long()

    with use_threads(2), pytest.raises(KeyboardInterrupt), hold_signals():
        at_once(long, interrupting)


def test_a_halt_holds_for_the_work_inside_it() -> None:
    outer = Halt()
    inner = Halt(outer)
    with halted_by(inner):
        check_halted()
        outer.set()
        with pytest.raises(Halted):
            check_halted()
    check_halted()
