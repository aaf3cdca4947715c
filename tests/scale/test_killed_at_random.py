"""Workers and drivers are killed at random moments, and the results are those of one process."""

from __future__ import annotations

import gzip
import itertools
import json
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from zipfel import Zipfel

pytest.importorskip("ray")
pytest.importorskip("psutil")
from tests.scale.killing import run_and_kill, run_and_kill_driver, zipfel_command

pytestmark = [pytest.mark.slow, pytest.mark.shared]
TENSORS = "tensors.safetensors"
QUICK = "--preset", "quick"
NETWORK = "--method", "glas", "--set", "dim=32", "--set", "epochs=6"


@pytest.fixture(scope="module")
def train(shared_data: Path) -> Path:
    return shared_data / "debian-tags" / "train.jsonl.gz"


@pytest.fixture(scope="module")
def model(train: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "one"
    subprocess.run(zipfel_command("fit", train, *QUICK, "--out", folder), check=True)
    return folder


@pytest.fixture(scope="module")
def answers(model: Path, shared_data: Path) -> bytes:
    return subprocess.run(predicting(model, shared_data), check=True, stdout=subprocess.PIPE).stdout


def predicting(model: Path, shared_data: Path, *more: str) -> list[str]:
    return zipfel_command("predict", model, shared_data / "debian-tags" / "test.jsonl.gz", "--json", *more)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_fit_gives_the_same_bytes(model: Path, train: Path, tmp_path: Path, seed: int) -> None:
    out = tmp_path / "model"
    command = zipfel_command("fit", train, *QUICK, "--out", out, "--workers", 2)
    found = run_and_kill(command, seed, kills=4, pause=3.0)
    assert found.killed
    assert found.code == 0
    assert (out / TENSORS).read_bytes() == (model / TENSORS).read_bytes()


def test_a_fit_whose_driver_dies_goes_on(model: Path, train: Path, tmp_path: Path) -> None:
    out, rng = tmp_path / "model", np.random.default_rng(3)
    command = zipfel_command("fit", train, *QUICK, "--out", out, "--workers", 2, "--resume")
    start = time.monotonic()
    subprocess.run([*command, "--force"], check=True)
    whole = time.monotonic() - start
    (out / TENSORS).unlink()
    died = [run_and_kill_driver([*command, "--force"], rng.uniform(0.2, 0.8) * whole) for _ in range(2)]
    assert any(died)
    subprocess.run([*command, "--force"], check=True)
    assert (out / TENSORS).read_bytes() == (model / TENSORS).read_bytes()


def test_predictions_by_rows_are_the_same_bytes(model: Path, answers: bytes, shared_data: Path) -> None:
    found = run_and_kill(predicting(model, shared_data, "--workers", "2"), 4, kills=3, pause=3.0)
    assert found.killed
    assert found.code == 0
    assert found.out == answers


def test_predictions_by_label_shards_are_equal_up_to_rounding(model: Path, answers: bytes, shared_data: Path) -> None:
    command = predicting(model, shared_data, "--workers", "2", "--by", "labels")
    found = run_and_kill(command, 5, kills=3, pause=2.0, kind="ray::ShardWorker")
    assert found.killed
    assert found.code == 0
    one, two = ([json.loads(line) for line in text.splitlines()] for text in (answers, found.out))
    assert np.abs(np.array([a["scores"] for a in one]) - np.array([b["scores"] for b in two])).max() < 1e-5
    assert np.mean([a["labels"] == b["labels"] for a, b in zip(one, two, strict=True)]) > 0.999


def test_a_network_is_equal_up_to_rounding(train: Path, tmp_path: Path) -> None:
    few = tmp_path / "few.jsonl"
    with gzip.open(train, "rt", encoding="utf-8") as lines:
        few.write_text("".join(itertools.islice(lines, 1500)), encoding="utf-8")
    alone, out = tmp_path / "alone", tmp_path / "model"
    subprocess.run(zipfel_command("fit", few, *NETWORK, "--out", alone), check=True)
    command = zipfel_command("fit", few, *NETWORK, "--out", out, "--workers", 2)
    found = run_and_kill(command, 6, kills=2, pause=8.0, kind="ray::RayTrain")
    assert found.killed
    assert found.code == 0
    texts = [json.loads(line)["text"] for line in few.read_text(encoding="utf-8").splitlines()[:300]]
    one, two = (Zipfel.load(folder).predict(texts, k=5) for folder in (alone, out))
    alike = one.labels == two.labels  # labels with nearly equal scores may change places
    assert np.mean(alike) > 0.98
    assert np.abs(one.scores - two.scores)[alike].max() < 0.01
