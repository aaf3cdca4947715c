"""The loop: learns, stops, resumes to the same numbers, keeps to its budgets."""

from __future__ import annotations

import errno
import importlib.util
import math
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from zipfel.errors import ModelFileError, ParameterError, ResourceError
from zipfel.run import Run
from zipfel.system import memory
from zipfel.system.threads import at_once
from zipfel.training import trainer

_FILE = Path(__file__).with_name("trainee.py")
_SPEC = importlib.util.spec_from_file_location("trainee", _FILE)
assert _SPEC is not None
assert _SPEC.loader is not None
trainee: Any = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(trainee)


def test_it_learns_and_keeps_the_best_epoch() -> None:
    history, _ = trainee.train(Run(seed=1, threads=1), epochs=15)
    losses = [epoch["loss"] for epoch in history.epochs]
    assert losses[-1] < losses[0] / 2
    assert history.best > 0.75
    assert history.best == max(epoch["P@1"] for epoch in history.epochs)
    assert history.epochs[history.best_epoch]["P@1"] == history.best


def test_same_seed_same_weights_and_the_global_generator_is_left_alone() -> None:
    torch.manual_seed(123)
    digests = {trainee.digest(trainee.train(Run(seed=2, threads=threads))[1]) for threads in (1, 1)}
    other = trainee.digest(trainee.train(Run(seed=3, threads=1))[1])
    assert len(digests) == 1
    assert other not in digests


def test_side_by_side_it_learns_what_it_learns_alone() -> None:
    """Dropout draws from a generator of its own, not from torch's, which threads share."""

    def digest(seed: int) -> str:
        return str(trainee.digest(trainee.train(Run(seed=seed, threads=1))[1]))

    alone = [digest(seed) for seed in (3, 4)]
    assert at_once(*(partial(digest, seed) for seed in (3, 4)), threads=2) == alone


def test_patience_stops_and_clipping_bounds_the_step() -> None:
    history, _ = trainee.train(Run(seed=1, threads=1), epochs=40, patience=2)
    assert history.stopped
    assert len(history.epochs) < 40
    clipped, _ = trainee.train(Run(seed=1, threads=1), epochs=2, clip=1e-3)
    assert math.isfinite(clipped.epochs[-1]["loss"])


def test_time_budget_stops_well() -> None:
    history, _ = trainee.train(Run(seed=1, threads=1, time_budget=0.5), epochs=10_000, pause=0.01)
    assert history.stopped == "time budget"
    assert history.best > 0


def test_a_finished_phase_is_not_run_again(tmp_path: Path) -> None:
    run = Run(seed=4, threads=1, checkpoint=tmp_path)
    _, first = trainee.train(run)
    history, again = trainee.train(Run(seed=4, threads=1, checkpoint=tmp_path, resume=True))
    assert len(history.epochs) == 6
    assert trainee.digest(first) == trainee.digest(again)
    with pytest.raises(ModelFileError, match="start without resume"):
        trainee.train(Run(seed=5, threads=1, checkpoint=tmp_path, resume=True))


def test_a_torn_checkpoint_is_a_clear_error(tmp_path: Path) -> None:
    trainee.train(Run(seed=4, threads=1, checkpoint=tmp_path), epochs=1)
    file = tmp_path / "training.tensors"
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(ModelFileError, match="start without resume"):
        trainee.train(Run(seed=4, threads=1, checkpoint=tmp_path, resume=True), epochs=1)


def test_killed_and_resumed_ends_with_the_same_numbers(tmp_path: Path) -> None:
    command = [sys.executable, str(_FILE), str(tmp_path / "killed")]
    started = subprocess.Popen([*command, "0.03"], stdout=subprocess.DEVNULL)
    file = tmp_path / "killed" / "training.tensors"
    deadline = time.monotonic() + 120
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(started.pid, signal.SIGKILL)
    assert started.wait() == -signal.SIGKILL
    resumed = subprocess.run([*command, "0"], capture_output=True, text=True, check=True).stdout.strip()
    _, whole = trainee.train(Run(seed=5, threads=1))
    assert resumed == trainee.digest(whole)


def test_too_little_memory_is_an_error_before_the_first_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 1000)
    with pytest.raises(ResourceError, match="GB are free"):
        trainee.train(Run(seed=1, threads=1))


def test_a_loss_that_is_no_number_says_what_to_do() -> None:
    with pytest.raises(ParameterError, match="lower lr"):
        trainee.train(Run(seed=1, threads=1), lr=1e30, epochs=2)


def test_a_flipped_bit_in_a_checkpoint_is_found(tmp_path: Path) -> None:
    trainee.train(Run(seed=4, threads=1, checkpoint=tmp_path), epochs=1)
    file = tmp_path / "training.tensors"
    whole = file.read_bytes()
    for place in (9, len(whole) // 3, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        with pytest.raises(ModelFileError, match="start without resume"):
            trainee.train(Run(seed=4, threads=1, checkpoint=tmp_path, resume=True), epochs=1)


def test_what_differs_is_named(tmp_path: Path) -> None:
    trainee.train(Run(seed=4, threads=1, checkpoint=tmp_path, signature={"method": "a", "data": "1"}), epochs=1)
    other = Run(seed=4, threads=1, checkpoint=tmp_path, resume=True, signature={"method": "a", "data": "2"})
    with pytest.raises(ModelFileError, match="other data; start"):
        trainee.train(other, epochs=1)


def test_training_goes_on_where_checkpoints_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(trainer, "write_checkpoint", full)
    said: list[str] = []
    run = Run(seed=4, threads=1, checkpoint=tmp_path)
    monkeypatch.setattr(run.progress, "message", said.append)
    history, learned = trainee.train(run)
    assert len(history.epochs) == 6
    assert len(said) == 1
    assert "No space left" in said[0]
    assert trainee.digest(learned) == trainee.digest(trainee.train(Run(seed=4, threads=1))[1])
