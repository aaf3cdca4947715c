"""What workers tell is shown by the driver."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from zipfel.errors import ParameterError
from zipfel.scale.desk import Desk, Shown, ToldProgress
from zipfel.state import State


class Noted:
    """A progress that notes what it is told."""

    def __init__(self) -> None:
        self.notes: list[tuple[Any, ...]] = []

    def task(self, name: str, total: float | None = None) -> NotedTask:
        return NotedTask(self, name, total)

    def message(self, text: str) -> None:
        self.notes.append(("message", text))

    def remark(self, text: str) -> None:
        self.notes.append(("remark", text))


class NotedTask:
    def __init__(self, noted: Noted, name: str, total: float | None) -> None:
        self.noted, self.name, self.total = noted, name, total

    def __enter__(self) -> NotedTask:
        self.noted.notes.append(("open", self.name, self.total))
        return self

    def __exit__(self, *error: object) -> None:
        self.noted.notes.append(("close", self.name))

    def advance(self, amount: float = 1, **shown: float | str) -> None:
        self.noted.notes.append(("advance", self.name, amount, shown))


def near(desk: Desk) -> Any:
    """The desk as an actor's handle, whose calls take effect at once."""
    return SimpleNamespace(tell=SimpleNamespace(remote=desk.tell))


def test_what_a_worker_tells_is_shown() -> None:
    desk, noted = Desk(), Noted()
    told = ToldProgress(near(desk))
    with Shown(noted) as shown:
        with told.task("training", 100) as task:
            task.advance(30, loss=0.5)
            task.advance(20, loss=0.4)
            task.advance(50, loss=0.3)
        told.message("chosen")
        told.remark("odd")
        shown.show(desk.events())
        assert desk.events() == []
    assert noted.notes[0] == ("open", "training", 100)
    assert noted.notes[-3:] == [("close", "training"), ("message", "chosen"), ("remark", "odd")]
    advances = [note for note in noted.notes if note[0] == "advance"]
    assert sum(amount for _, _, amount, _ in advances) == 100
    assert advances[-1][3] == {"loss": 0.3}


def test_tasks_of_workers_that_died_are_closed() -> None:
    desk, noted = Desk(), Noted()
    desk.begin(0)
    ToldProgress(near(desk)).task("training", 10).__enter__()
    desk.begin(1)
    desk.begin(0)
    with Shown(noted) as shown:
        shown.show(desk.events())
        assert noted.notes == [("open", "training", 10), ("close", "training")]
        ToldProgress(near(desk)).task("again", 5).__enter__()
        shown.show(desk.events())
    assert noted.notes[2:] == [("open", "again", 5), ("close", "again")]


def test_an_error_of_a_worker_is_raised_and_results_are_copied() -> None:
    desk = Desk()
    desk.tell(("error", ParameterError("lower lr")))
    with pytest.raises(ParameterError, match="lower lr"), Shown(Noted()) as shown:
        shown.show(desk.events())
    assert desk.result() is None
    array = np.ones(3)
    desk.hand_in(State({"a": array}, {"k": 1}), {"timings": {"training": 1.0}})
    array[:] = 0
    result = desk.result()
    assert result is not None
    assert result[0].arrays["a"].tolist() == [1, 1, 1]
    assert result[1] == {"timings": {"training": 1.0}}
