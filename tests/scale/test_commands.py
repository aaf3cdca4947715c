"""`zipfel fit`, `predict` and packed data as a user types them: the same bytes, whoever works."""

from __future__ import annotations

import json
import subprocess
import sys
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


def test_label_shards_rank_as_one_process(model: Path, shared_data: Path) -> None:
    words = ["predict", model, shared_data / "debian-tags" / "test.jsonl.gz", "--json"]
    one, two = (
        [json.loads(line) for line in zipfel(*words, *more).splitlines()]
        for more in ([], ["--workers", "2", "--by", "labels"])
    )
    assert len(one) == len(two)
    assert np.abs(np.array([a["scores"] for a in one]) - np.array([b["scores"] for b in two])).max() < 1e-5
    assert np.mean([a["labels"] == b["labels"] for a, b in zip(one, two, strict=True)]) > 0.999


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
