"""Ctrl-C and SIGTERM end any command at once, in one sentence, at any moment.

The command works in a second thread; the main thread only waits. Python runs signal handlers in the main thread, so
that none can raise inside a compiled kernel. A stopped command is asked to end; if it does not within `GRACE` seconds,
because it is inside of a long kernel or waits for input, the process ends without it. That loses nothing: models and
data files are renamed into place only when they are complete.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Any, NoReturn

from zipfel.system.interrupts import Halt, halted_by

GRACE = 1.0
"""Seconds that a stopped command has to end by itself."""

EXIT_CODES = {"SIGINT": 130, "SIGTERM": 143, "SIGHUP": 129}
"""What a shell expects: 128 and the signal's number."""

_NAMES = {"SIGINT": "Ctrl-C", "SIGTERM": "SIGTERM", "SIGHUP": "the end of its terminal"}

_CURSOR = "\r\x1b[2K\x1b[?25h"
"""Clears the line of a progress bar, and shows the cursor, which the bar hides."""

_Job = Callable[[], Any]
_asked: SimpleQueue[tuple[str, Any]] | None = None
"""Where a supervised command asks the main thread for something."""
_when_stopped: list[Callable[[], str | None]] = []


@contextmanager
def when_stopped(tell: Callable[[], str | None]) -> Iterator[None]:
    """If the command is stopped inside the block, `tell` is called; the sentence that it returns is printed."""
    _when_stopped.append(tell)
    try:
        yield
    finally:
        _when_stopped.remove(tell)


def in_main_thread(job: _Job) -> Any:
    """Runs a job in the main thread and returns its result, for example a server that handles signals itself."""
    if _asked is None or threading.current_thread() is threading.main_thread():
        return job()
    answer: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
    _asked.put(("run", (job, answer)))
    result, error = answer.get()
    if error is not None:
        raise error
    return result


def supervised(command: _Job) -> Any:
    """Runs the command in a thread of its own and returns what it returns; does not return where a signal ends it."""
    global _asked
    events: SimpleQueue[tuple[str, Any]] = SimpleQueue()  # put may be called from a signal handler
    _asked, halt = events, Halt()

    def work() -> None:
        with halted_by(halt):
            events.put(("done", _outcome(command)))

    with _signals_to(events):
        threading.Thread(target=work, name="zipfel-command", daemon=True).start()
        while True:
            kind, value = events.get()
            if kind == "signal":
                kind, value = _stop(value, halt, events)
            if kind == "run":
                job, answer = value
                with _own_signals():
                    answer.put(_outcome(job))
            else:
                break
    _asked = None
    result, error = value
    if error is not None:
        raise error
    return result


def _outcome(job: _Job) -> tuple[Any, BaseException | None]:
    try:
        return job(), None
    except BaseException as error:  # noqa: BLE001 - it is raised where it is waited for
        return None, error


@contextmanager
def _signals_to(events: SimpleQueue[tuple[str, Any]]) -> Iterator[None]:
    """Signals that would end the process become events. One that is ignored, as under nohup, stays ignored. After the
    command, they are ignored: what is left to do takes a moment."""
    numbers = [getattr(signal, name) for name in EXIT_CODES if hasattr(signal, name)]
    held = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
    for number in held:
        signal.signal(number, lambda number, _frame: events.put(("signal", number)))
    try:
        yield
    finally:
        for number in held:
            signal.signal(number, signal.SIG_IGN)


@contextmanager
def _own_signals() -> Iterator[None]:
    """For a job that handles signals itself: Python's handlers, as in any program."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop(number: int, halt: Halt, events: SimpleQueue[tuple[str, Any]]) -> tuple[str, Any]:
    """Asks the command to end. What it returned, where it had come to its end already; else the process ends here.

    An error that follows counts as stopped, too: Ctrl-C ends the whole pipeline, and its input may have been cut off.
    """
    told = list(_when_stopped)
    halt.set()
    with contextlib.suppress(Empty):
        kind, value = events.get(timeout=GRACE)
        if kind == "done" and value[1] is None:
            return kind, value
    return _exit(signal.Signals(number).name, told)


def _exit(name: str, told: list[Callable[[], str | None]]) -> NoReturn:
    """Removes what is half-written, tells the user, and ends the process, whatever its other threads are doing."""
    from zipfel.system.temporary import remove_all

    _within(GRACE, remove_all)
    hints = [hint for tell in told if (hint := tell())]
    said = [f"zipfel: stopped by {_NAMES[name]}; nothing was left half-written", *hints]
    _within(GRACE, lambda: (sys.stdout.flush(), sys.stderr.flush()))
    shown = _CURSOR if os.isatty(2) else ""
    with contextlib.suppress(OSError):
        os.write(2, (shown + "\n".join(said) + "\n").encode())
    os._exit(EXIT_CODES[name])


def _within(seconds: float, job: _Job) -> None:
    """Runs a job that may have to wait for a thread that never goes on."""
    doing = threading.Thread(target=_outcome, args=(job,), daemon=True)
    doing.start()
    doing.join(seconds)
