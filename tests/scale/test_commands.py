"""`zipfel fit`, `predict` and packed data as a user types them: the same bytes, whoever works."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ray")
pytestmark = [pytest.mark.slow, pytest.mark.shared]


def zipfel(*words: object) -> bytes:
    return subprocess.run([sys.executable, "-m", "zipfel", *map(str, words)], check=True, stdout=subprocess.PIPE).stdout


@pytest.fixture(scope="module")
def model(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "one"
    zipfel("fit", shared_data / "debian-tags" / "train.jsonl.gz", "--preset", "quick", "--out", folder)
    return folder


def workers_of(pid: int) -> list[int]:
    """Ray's task processes under a process."""
    import psutil

    found = []
    for child in psutil.Process(pid).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            agent = child.name().startswith(("ray::Dash", "ray::Runtime"))
            found += [child.pid] * (child.name().startswith("ray::") and not agent)
    return found


def killed_now_and_then(process: subprocess.Popen[bytes], *, times: int, every: float) -> int:
    """Kills a worker of the process every so often; returns how many."""
    killed = 0
    while process.poll() is None and killed < times:
        time.sleep(every)
        busy = workers_of(process.pid) if process.poll() is None else []
        for pid in busy[killed % len(busy) : killed % len(busy) + 1] if busy else []:
            os.kill(pid, signal.SIGKILL)
            killed += 1
    process.wait()
    return killed


def test_workers_that_are_killed_change_no_answer(model: Path, shared_data: Path) -> None:
    words = ["predict", model, shared_data / "debian-tags" / "test.jsonl.gz", "--json"]
    expected = zipfel(*words)
    command = [sys.executable, "-m", "zipfel", *map(str, words), "--workers", "2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        found: list[bytes] = []
        assert process.stdout is not None
        reader = threading.Thread(target=lambda: found.append(process.stdout.read()))  # type: ignore[union-attr]
        reader.start()
        killed = killed_now_and_then(process, times=2, every=1.5)
        reader.join()
    assert killed
    assert found[0] == expected


def test_label_shards_rank_as_one_process(model: Path, shared_data: Path) -> None:
    words = ["predict", model, shared_data / "debian-tags" / "test.jsonl.gz", "--json"]
    one, two = (
        [json.loads(line) for line in zipfel(*words, *more).splitlines()]
        for more in ([], ["--workers", "2", "--by", "labels"])
    )
    assert len(one) == len(two)
    assert np.abs(np.array([a["scores"] for a in one]) - np.array([b["scores"] for b in two])).max() < 1e-5
    assert np.mean([a["labels"] == b["labels"] for a, b in zip(one, two, strict=True)]) > 0.999


def test_workers_that_are_killed_change_no_model(model: Path, shared_data: Path, tmp_path: Path) -> None:
    train, out = shared_data / "debian-tags" / "train.jsonl.gz", tmp_path / "model"
    words = ["fit", train, "--preset", "quick", "--out", out, "--workers", 2]
    with subprocess.Popen([sys.executable, "-m", "zipfel", *map(str, words)]) as process:
        killed = killed_now_and_then(process, times=3, every=2.0)
    assert killed
    assert process.returncode == 0
    name = "tensors.safetensors"
    assert (out / name).read_bytes() == (model / name).read_bytes()


def test_a_driver_that_was_killed_goes_on_from_finished_tasks(model: Path, shared_data: Path, tmp_path: Path) -> None:
    train, out = shared_data / "debian-tags" / "train.jsonl.gz", tmp_path / "model"
    words = ["fit", train, "--preset", "quick", "--out", out, "--workers", "2", "--resume"]
    tasks = tmp_path / "model.checkpoint" / "tasks"
    with subprocess.Popen([sys.executable, "-m", "zipfel", *map(str, words)]) as process:
        while process.poll() is None and len(list(tasks.glob("*.tensors"))) < 3:
            time.sleep(0.05)
        process.kill()
    kept = {path: path.stat().st_mtime_ns for path in tasks.glob("*.tensors")}
    assert len(kept) >= 3
    before = time.time_ns()
    with subprocess.Popen([sys.executable, "-m", "zipfel", *map(str, words)]) as process:
        seen: dict[Path, int] = {}
        while process.poll() is None:
            seen |= {path: path.stat().st_mtime_ns for path in tasks.glob("*.tensors") if path.exists()}
            time.sleep(0.05)
    assert process.returncode == 0
    assert all(seen[path] == kept[path] < before for path in kept)
    name = "tensors.safetensors"
    assert (out / name).read_bytes() == (model / name).read_bytes()
