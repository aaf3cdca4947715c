from __future__ import annotations

from pathlib import Path

import numpy as np

from zipfel.executor import Arrays
from zipfel.scale.finished import FinishedTasks


def _work(*_: object) -> Arrays:
    return (np.zeros(1),)


def test_results_are_found_again_for_the_same_task(tmp_path: Path) -> None:
    tasks, shared = FinishedTasks(tmp_path / "tasks"), [np.arange(3), 2, "x"]
    key, task = tasks.key(_work, shared), (np.ones(2), 7)
    assert tasks.load(key, task) is None
    tasks.save(key, task, (np.arange(4), np.zeros((0, 2), dtype=np.float32)))
    found = FinishedTasks(tmp_path / "tasks").load(key, task)
    assert found is not None
    assert found[0].tolist() == [0, 1, 2, 3]
    assert (found[1].shape, found[1].dtype) == ((0, 2), np.float32)


def test_another_task_is_not_finished(tmp_path: Path) -> None:
    tasks = FinishedTasks(tmp_path)
    key = tasks.key(_work, [np.arange(3), 2])
    tasks.save(key, (np.ones(2),), (np.arange(4),))
    assert tasks.load(key, (np.zeros(2),)) is None
    for shared in ([np.arange(3), 3], [np.arange(4), 2], [np.arange(3.0), 2]):
        assert tasks.load(tasks.key(_work, shared), (np.ones(2),)) is None


def test_a_damaged_result_counts_as_none(tmp_path: Path) -> None:
    tasks = FinishedTasks(tmp_path)
    tasks.save("key", (1,), (np.arange(4),))
    file = next(tmp_path.iterdir())
    whole = file.read_bytes()
    for damaged in (b"half", whole[:-40] + bytes([whole[-40] ^ 1]) + whole[-39:]):
        file.write_bytes(damaged)
        assert tasks.load("key", (1,)) is None


def test_without_a_folder_nothing_is_kept() -> None:
    tasks = FinishedTasks(None)
    tasks.save(tasks.key(_work, []), (1,), (np.arange(4),))
    assert tasks.load("", (1,)) is None
