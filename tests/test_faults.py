"""Faults at every step of writing - an error, a full disk, the end of the process - leave the old state or the new."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

from tests.limited import ROOT
from zipfel import persistence
from zipfel.data.files import write_files
from zipfel.errors import ZipfelError
from zipfel.persistence import ModelFiles, load_model, save_model
from zipfel.system import atomic_folders
from zipfel.system.tensors import read_summed

STEPS: list[tuple[Any, str]] = [
    (os, "fsync"), (os, "rename"), (os, "replace"), (os, "mkdir"), (atomic_folders, "exchange"),
    (persistence._Digesting, "write"), (Path, "write_text"), (Path, "open"),
]  # fmt: skip
MOST = 200


@contextmanager
def failing_at(n: int, fail: Callable[[str], None]) -> Iterator[list[str]]:
    """The n-th step of any kind fails before it is done; the steps that were begun, by name."""
    begun: list[str] = []

    def counted(name: str, call: Any) -> Any:
        def step(*args: Any, **kwargs: Any) -> Any:
            begun.append(name)
            if len(begun) == n:
                fail(name)
            return call(*args, **kwargs)

        return step

    patches = [mock.patch.object(owner, name, counted(name, getattr(owner, name))) for owner, name in STEPS]
    for patch in patches:
        patch.start()
    try:
        yield begun
    finally:
        for patch in patches:
            patch.stop()


def full(name: str) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), name)


def files(number: int) -> ModelFiles:
    return ModelFiles({"number": number}, {"a": np.full(3000, number)}, {"labels": [str(number)]})


def number_of(target: Path) -> int:
    """Of the model that is there, if it is whole."""
    found = load_model(target)
    numbers = {found.config["number"], int(found.arrays["a"][0]), int(found.documents["labels"][0])}
    assert len(numbers) == 1
    return int(found.config["number"])


def test_an_error_at_every_step_of_saving(tmp_path: Path) -> None:
    target, seen = tmp_path / "model", set()
    save_model(target, files(0))
    for n in range(1, MOST):
        before = number_of(target)
        with failing_at(n, full) as begun:
            try:
                save_model(target, files(n))
            except ZipfelError:
                failed = True
            else:
                failed = False
        seen |= {*begun}
        assert number_of(target) in ((before, n) if failed else (n,))
        assert [path.name for path in tmp_path.iterdir()] == ["model"]
        if len(begun) < n:
            break
    assert n < MOST - 1
    assert {"fsync", "mkdir", "write", "write_text", "open"} <= seen
    assert {"exchange", "rename"} & seen


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_the_end_of_the_process_at_every_step_of_saving(tmp_path: Path) -> None:
    target = tmp_path / "model"
    save_model(target, files(0))
    for n in range(1, MOST):
        before = number_of(target)
        child = os.fork()
        if child == 0:
            with failing_at(n, lambda _: os._exit(9)):
                save_model(target, files(n))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        assert number_of(target) in ((n,) if code == 0 else (before, n))
        if code == 0:
            break
        assert code == 9
    assert 10 < n < MOST - 1
    with mock.patch.object(atomic_folders, "_LEFT_AFTER", -1.0):
        save_model(target, files(MOST))
    assert number_of(target) == MOST
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_an_error_at_every_step_of_writing_data(tmp_path: Path) -> None:
    target = tmp_path / "rows.jsonl"
    target.write_text("old\n")
    for n in range(1, MOST):
        before = target.read_text()
        with failing_at(n, full) as begun:
            try:
                write_files([(target, ["new\n"] * n)])
            except ZipfelError:
                expected = before
            else:
                expected = "new\n" * n
        assert target.read_text() == expected
        assert [path.name for path in tmp_path.iterdir()] == ["rows.jsonl"]
        if len(begun) < n:
            break
    assert n > 1


def test_an_error_at_every_step_of_a_checkpoint(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from zipfel.training.checkpoint import write_checkpoint

    target = tmp_path / "training.tensors"
    write_checkpoint(target, {"a": torch.zeros(3)}, {"epoch": 0})
    for n in range(1, MOST):
        with failing_at(n, full) as begun, suppress(OSError):
            write_checkpoint(target, {"a": torch.full((3,), float(n))}, {"epoch": n})
        arrays, _ = read_summed(target)
        assert float(arrays["a"][0]) in range(n + 1)
        assert [path.name for path in tmp_path.iterdir()] == [target.name]
        if len(begun) < n:
            break
    assert n > 2


SAVING = """
import resource, sys
sys.path.insert(0, {root!r})
from zipfel.cli.main import main
resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))
main()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of files are Linux's")
@pytest.mark.parametrize("size", [0, 100, 2000])
def test_a_full_disk_is_one_sentence_and_no_traceback(size: int, tmp_path: Path) -> None:
    """Files that may not grow, as on a full disk: for the model, the place of rescue, and a data file."""
    rows = "".join(f'{{"text": "bike {i} {i * 7}", "labels": ["a{i % 9}"]}}\n' for i in range(300))
    (tmp_path / "rows.jsonl").write_text(rows)
    code = SAVING.format(root=str(ROOT), size=size)
    environment = {**os.environ, "NUMBA_CACHE_DIR": "", "PYTHONDONTWRITEBYTECODE": "1"}
    for words in (
        ["fit", "rows.jsonl", "--method", "popular", "--out", "m"],
        ["data", "convert", "rows.jsonl", "o.csv"],
    ):
        command = [sys.executable, "-c", code, *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, env=environment)
        assert done.returncode in (2, 3), done.stderr
        assert "Traceback" not in done.stderr
        assert done.stderr.strip().splitlines()[-1].startswith("zipfel: ")
        assert not [path for path in tmp_path.iterdir() if path.name not in ("rows.jsonl", "m.checkpoint")]
