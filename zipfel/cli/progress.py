"""One progress bar for one command: the phase in words, the time that is left, nothing left behind when it ends."""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING

from zipfel.cli.console import above_the_bar, say
from zipfel.system.log import LOGGER
from zipfel.system.phases import WORDS, Course, in_words, plan_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import RenderableType
    from rich.progress import Progress as RichBar

_SHOWN_AFTER = 0.3
"""Seconds that a command works before there is a bar: a flash of one only disturbs."""

_SPEEDS = ("examples_s",)
"""What tasks show that says no more than the time that is left."""
_OUTSIDE = ("compiling",)
"""Tasks that are no part of a fit's plan: they have the bar for themselves."""


class TerminalProgress:
    """`run.Progress` on a terminal's stderr; silent where stderr is no terminal.

    method: with the name of a method, the bar covers its whole fit, from reading to saving, inside of `with progress:`.
    """

    def __init__(self, method: str | None = None) -> None:
        self._course = None if method is None else Course(plan_of(method), time.monotonic())
        self._tasks: list[TerminalTask] = []
        self._lock = threading.RLock()
        self._bar: RichBar | None = None
        self._held, self._last = 0, ""

    def __enter__(self) -> TerminalProgress:
        self._held += 1
        return self

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._held -= 1
            self._stop_if_idle()

    def task(self, name: str, total: float | None = None) -> TerminalTask:
        return TerminalTask(self, name, total)

    def message(self, text: str) -> None:
        LOGGER.info(text)

    def remark(self, text: str) -> None:
        say(text)

    def open(self, task: TerminalTask) -> None:
        with self._lock:
            self._tasks.append(task)
            if self._course is not None and task.name not in _OUTSIDE:
                self._course.enter(task.name, time.monotonic())
            if self._bar is None and sys.stderr.isatty():
                self._bar = _bar(self)
                self._bar.start()
                above_the_bar.append(self._print_above)

    def close(self, task: TerminalTask) -> None:
        with self._lock:
            self._tasks.remove(task)
            if self._course is not None and task.name in _OUTSIDE:
                self._course.leave_out(time.monotonic() - task.started)
            self._stop_if_idle()

    def _stop_if_idle(self) -> None:
        if self._bar is not None and not self._tasks and not self._held:
            above_the_bar.remove(self._print_above)
            self._bar.stop()
            self._bar = None

    def _print_above(self, text: str) -> None:
        if self._bar is not None:
            self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def counted(self, task: TerminalTask) -> None:
        """The task has done some of what it counts."""
        if self._course is not None and task.total and task.name not in _OUTSIDE:
            self._course.within(task.done / task.total)

    def state(self) -> tuple[str, float | None, str, str]:
        """(phase, fraction or None, time left, what is shown behind it), as the bar shows them now."""
        with self._lock:
            task = self._tasks[-1] if self._tasks else None
            named = next(
                (other.name for other in reversed(self._tasks) if other.name in WORDS or self._course is None), None
            )
            self._last = in_words(named) if named is not None else self._last
        now = time.monotonic()
        if self._course is not None and (task is None or task.name not in _OUTSIDE):
            fraction: float | None = self._course.fraction(now)
            left = self._course.seconds_left(now)
        else:
            fraction, left = _alone(task, now)
        return self._last, fraction, time_left(left), task.shown if task is not None else ""


class TerminalTask:
    """One phase; what `advance` is shown (loss, P@1) stands behind the bar."""

    def __init__(self, progress: TerminalProgress, name: str, total: float | None) -> None:
        self.name, self.total = name, total
        self.done, self.shown, self.started = 0.0, "", time.monotonic()
        self._progress = progress

    def __enter__(self) -> TerminalTask:
        self._progress.open(self)
        return self

    def advance(self, amount: float = 1, **shown: float | str) -> None:
        self.done += amount
        self._progress.counted(self)
        if shown:
            told = (
                f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}" for k, v in shown.items() if k not in _SPEEDS
            )
            self.shown = " ".join(told)
        elif not self.total:
            self.shown = f"{self.done:,.0f}"

    def __exit__(self, *error: object) -> None:
        self._progress.close(self)


def _alone(task: TerminalTask | None, now: float) -> tuple[float | None, float | None]:
    """(fraction, seconds left) of a task that is no part of a plan; None where they are not known."""
    if task is None or not task.total or task.done <= 0:
        return None, None
    fraction = min(1.0, task.done / task.total)
    return fraction, (now - task.started) * (1 - fraction) / fraction


def time_left(seconds: float | None) -> str:
    """For people: no more digits than there are reasons for.

    >>> time_left(None), time_left(7.2), time_left(130), time_left(8000)
    ('', '7 s left', '2 min left', '2 h 13 min left')
    """
    if seconds is None:
        return ""
    if seconds < 90:
        return f"{max(1, round(seconds))} s left"
    minutes = round(seconds / 60)
    return f"{minutes} min left" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min left"


def _bar(progress: TerminalProgress) -> RichBar:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    born = time.monotonic()

    class OneBar(Progress):
        def get_renderables(self) -> Iterable[RenderableType]:
            if time.monotonic() - born >= _SHOWN_AFTER:
                phase, fraction, left, shown = progress.state()
                for task in self.tasks:
                    task.description, task.completed = phase, fraction or 0.0
                    task.total = None if fraction is None else 1.0
                    percent = "" if fraction is None else f"{min(99.0, 100 * fraction):.0f} %"
                    task.fields.update(percent=percent, left=left, shown=shown)
                yield self.make_tasks_table(self.tasks)

    bar = OneBar(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[percent]}"),
        TextColumn("{task.fields[left]}", markup=False),
        TextColumn("{task.fields[shown]}", markup=False),
        console=Console(stderr=True),
        transient=True,
    )
    bar.add_task("", total=None, percent="", left="", shown="")
    return bar
