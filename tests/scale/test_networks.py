"""A paper's network fitted by two workers, as a user types it: workers and drivers die, and the model is the same."""

from __future__ import annotations

import gzip
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from zipfel import Zipfel

pytest.importorskip("ray")
psutil = pytest.importorskip("psutil")
pytestmark = [pytest.mark.slow, pytest.mark.shared]
WORDS = ["--method", "glas", "--set", "dim=32", "--set", "epochs=6"]


@pytest.fixture(scope="module")
def train(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "train.jsonl"
    with gzip.open(shared_data / "debian-tags" / "train.jsonl.gz", "rt", encoding="utf-8") as lines:
        path.write_text("".join(itertools.islice(lines, 1500)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def alone(train: Path, tmp_path_factory: pytest.TempPathFactory) -> Zipfel:
    folder = tmp_path_factory.mktemp("models") / "alone"
    subprocess.run(command(train, folder)[:-2], check=True)
    return Zipfel.load(folder)


def command(train: Path, out: Path) -> list[str]:
    return [sys.executable, "-m", "zipfel", "fit", str(train), *WORDS, "--out", str(out), "--workers", "2"]


def check_same(alone: Zipfel, folder: Path, train: Path) -> None:
    texts = [json.loads(line)["text"] for line in train.read_text(encoding="utf-8").splitlines()[:300]]
    one, two = (model.predict(texts, k=5) for model in (alone, Zipfel.load(folder)))
    alike = one.labels == two.labels  # labels with nearly equal scores may change places
    assert np.mean(alike) > 0.98
    assert np.abs(one.scores - two.scores)[alike].max() < 0.01


def until_first_epoch(process: subprocess.Popen[bytes], out: Path) -> None:
    checkpoint = out.with_name(f"{out.name}.checkpoint") / "glas.tensors"
    while process.poll() is None and not checkpoint.exists():
        time.sleep(0.1)
    assert process.poll() is None


def below(pid: int) -> list[psutil.Process]:
    found: list[psutil.Process] = psutil.Process(pid).children(recursive=True)
    return found


def assert_all_end(processes: list[psutil.Process]) -> None:
    _, left = psutil.wait_procs(processes, timeout=120)
    assert not left


def test_a_worker_that_is_killed_costs_an_epoch(alone: Zipfel, train: Path, tmp_path: Path) -> None:
    out = tmp_path / "model"
    with subprocess.Popen(command(train, out)) as process:
        until_first_epoch(process, out)
        started = below(process.pid)
        workers = [child for child in started if "RayTrainWorker" in " ".join(child.cmdline())]
        assert len(workers) == 2
        workers[0].kill()
    assert process.returncode == 0
    check_same(alone, out, train)
    assert_all_end(started)


def test_a_driver_that_was_killed_goes_on_from_the_last_epoch(alone: Zipfel, train: Path, tmp_path: Path) -> None:
    out = tmp_path / "model"
    with subprocess.Popen(command(train, out)) as process:
        until_first_epoch(process, out)
        started = below(process.pid)
        process.kill()
    assert_all_end(started)
    subprocess.run([*command(train, out), "--resume"], check=True)
    check_same(alone, out, train)


def test_ctrl_c_leaves_a_checkpoint_and_no_process(train: Path, tmp_path: Path) -> None:
    out = tmp_path / "model"
    with subprocess.Popen(command(train, out), stderr=subprocess.PIPE) as process:
        until_first_epoch(process, out)
        started = below(process.pid)
        os.kill(process.pid, signal.SIGINT)
        assert process.stderr is not None
        said = process.stderr.read()
    assert process.returncode == 130
    assert b"--resume goes on from there" in said
    assert_all_end(started)


def test_an_error_of_a_worker_is_the_user_s(train: Path, tmp_path: Path) -> None:
    words = [*command(train, tmp_path / "model"), "--set", "lr=1e30"]
    found = subprocess.run(words, check=False, capture_output=True)
    assert found.returncode == 64
    assert b"lower lr" in found.stderr
    assert b"Traceback" not in found.stderr
