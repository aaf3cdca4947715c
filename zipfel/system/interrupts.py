"""Stopping long work at safe places: because other work failed, or because the user pressed Ctrl-C.

A signal's handler must not raise inside a compiled kernel: numba loses such an exception, or crashes. Two things keep
it out. The command line works in a second thread, which signals never reach (`zipfel.cli.stopping`). A Python program
that calls zipfel in its main thread has its handlers put off by `hold_signals` to the next `check_halted`.
"""

from __future__ import annotations

import functools
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

HELD = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGALRM") if hasattr(signal, name))
"""Signals whose handlers often raise: Ctrl-C, a polite kill, and a time limit."""


class Halted(BaseException):
    """Work that goes on beside other work is to end, because the other failed or the user pressed Ctrl-C."""


class Halt:
    """Set, or set for the work around it."""

    def __init__(self, around: Halt | None = None) -> None:
        self._around, self._set = around, False

    def set(self) -> None:
        self._set = True

    def is_set(self) -> bool:
        return self._set or (self._around is not None and self._around.is_set())


_here = threading.local()
"""`halt`: what ends the work of this thread."""


def current_halt() -> Halt | None:
    halt: Halt | None = getattr(_here, "halt", None)
    return halt


@contextmanager
def halted_by(halt: Halt | None) -> Iterator[None]:
    """Inside, `check_halted` asks this halt."""
    before, _here.halt = current_halt(), halt
    try:
        yield
    finally:
        _here.halt = before


def check_halted() -> None:
    """Long work calls this regularly. It runs the handlers of signals that arrived, and raises `Halted` if the work was
    cancelled."""
    _run_held_handlers()
    halt = current_halt()
    if halt is not None and halt.is_set():
        raise Halted


_handlers: dict[int, Callable[..., Any]] = {}
"""By signal: whose handlers are put off at the moment."""
_came: list[int] = []
"""Signals that came meanwhile."""


@contextmanager
def hold_signals() -> Iterator[None]:
    """Puts off what the main thread does on `HELD` signals until the next `check_halted`, or the end of the block.

    Nothing is changed in other threads, which no signal reaches, nor for signals that the program does not handle.
    """
    if _handlers or threading.current_thread() is not threading.main_thread():
        yield
        return
    found = {number: signal.getsignal(number) for number in HELD}
    handlers = {number: handler for number, handler in found.items() if callable(handler)}
    with ExitStack() as restoring:  # goes on where one handler raises as soon as it is back
        restoring.callback(_run_all_held, handlers)
        for number, handler in handlers.items():
            restoring.callback(signal.signal, number, handler)
        restoring.callback(_handlers.clear)
        _handlers.update(handlers)
        for number in handlers:
            signal.signal(number, _note)
        yield


def _run_all_held(handlers: Mapping[int, Callable[..., Any]]) -> None:
    came = list(_came)
    _came.clear()
    for number in came:
        handlers[number](number, None)


def holding_signals(work: Callable[P, T]) -> Callable[P, T]:
    """Decorator: the whole function runs within `hold_signals`."""

    @functools.wraps(work)
    def held(*args: P.args, **kwargs: P.kwargs) -> T:
        with hold_signals():
            return work(*args, **kwargs)

    return held


def _note(number: int, _frame: object) -> None:
    _came.append(number)


def _run_held_handlers() -> None:
    if _came and threading.current_thread() is threading.main_thread():
        number = _came.pop(0)
        handler = _handlers.get(number)
        if handler is not None:
            handler(number, None)
