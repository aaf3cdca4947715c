"""Where workers that train a network say how far they are, and hand in what they have learnt; the driver reads it."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable
from contextlib import ExitStack
from typing import Any

import numpy as np

from zipfel.run import Progress, Task
from zipfel.state import State

_EVERY = 0.25
"""Seconds between two messages of one task."""
Event = tuple[Any, ...]
Noted = dict[str, dict[str, Any]]


class Desk:
    """An actor of its own, so that it outlives the workers."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._result: tuple[State, Noted] | None = None

    def begin(self, rank: int) -> None:
        """A worker of this rank begins, for the first time or again."""
        if rank == 0:
            self._events.append(("again",))

    def tell(self, event: Event) -> None:
        self._events.append(event)

    def events(self) -> list[Event]:
        """What was told since the last call."""
        found, self._events = self._events, []
        return found

    def hand_in(self, state: State, noted: Noted) -> None:
        """noted: the timings and curves of the run. The arrays are copied: those that came belong to a worker that
        ends."""
        arrays = {name: np.array(array) for name, array in state.arrays.items()}
        self._result = State(arrays, state.facts), noted

    def result(self) -> tuple[State, Noted] | None:
        return self._result


class ToldProgress:
    """`run.Progress` of a worker: tells a desk."""

    def __init__(self, desk: Any) -> None:
        self._desk, self._numbers = desk, itertools.count()

    def task(self, name: str, total: float | None = None) -> _ToldTask:
        return _ToldTask(self._desk, next(self._numbers), name, total)

    def message(self, text: str) -> None:
        self._desk.tell.remote(("message", text))

    def remark(self, text: str) -> None:
        self._desk.tell.remote(("remark", text))


class _ToldTask:
    def __init__(self, desk: Any, number: int, name: str, total: float | None) -> None:
        self._desk, self._number, self._name, self._total = desk, number, name, total
        self._amount, self._told = 0.0, 0.0
        self._shown: dict[str, float | str] = {}

    def __enter__(self) -> _ToldTask:
        self._desk.tell.remote(("open", self._number, self._name, self._total))
        return self

    def advance(self, amount: float = 1, **shown: float | str) -> None:
        self._amount, self._shown = self._amount + amount, shown
        if time.monotonic() - self._told > _EVERY:
            self._flush()

    def _flush(self) -> None:
        self._desk.tell.remote(("advance", self._number, self._amount, self._shown))
        self._amount, self._told = 0.0, time.monotonic()

    def __exit__(self, *error: object) -> None:
        if self._amount:
            self._flush()
        self._desk.tell.remote(("close", self._number))


class Shown:
    """What a desk was told, shown by the driver's progress; its tasks end with the block."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._open: dict[int, tuple[Task, ExitStack]] = {}

    def __enter__(self) -> Shown:
        return self

    def __exit__(self, *error: object) -> None:
        self._close_all()

    def show(self, events: Iterable[Event]) -> None:
        """Raises the error of a worker."""
        for kind, *rest in events:
            if kind == "open":
                number, name, total = rest
                stack = ExitStack()
                self._open[number] = stack.enter_context(self._progress.task(name, total)), stack
            elif kind == "advance" and rest[0] in self._open:
                self._open[rest[0]][0].advance(rest[1], **rest[2])
            elif kind == "close" and rest[0] in self._open:
                self._open.pop(rest[0])[1].close()
            elif kind == "again":  # the tasks of workers that died
                self._close_all()
            elif kind == "message":
                self._progress.message(rest[0])
            elif kind == "remark":
                self._progress.remark(rest[0])
            elif kind == "error":
                raise rest[0]

    def _close_all(self) -> None:
        for _, stack in reversed(self._open.values()):
            stack.close()
        self._open.clear()
