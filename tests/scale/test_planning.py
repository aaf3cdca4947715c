"""A fit within a limit: the fullest plan that fits is taken, what is told holds, and too little is refused."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from zipfel import Zipfel
from zipfel.data import Dataset, synth
from zipfel.errors import ResourceError
from zipfel.run import Run
from zipfel.scale import planning, trial
from zipfel.scale.planning import Plan, chosen_documents, chosen_plan, fit_within
from zipfel.scale.resident import held_memory
from zipfel.scale.trial import Growth, measured_growth, sample_sizes
from zipfel.system.interrupts import check_halted

MB = 1_000_000


class Told:
    """Progress that keeps its messages."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def message(self, text: str) -> None:
        pass

    def remark(self, text: str) -> None:
        self.messages.append(text)

    def task(self, name: str, total: float | None = None) -> Any:
        return Run().progress.task(name, total)


@pytest.fixture(scope="module")
def data() -> Dataset:
    return synth(3000, 500, 60, features_per_point=12, labels_per_point=2)


def set_growth(monkeypatch: pytest.MonkeyPatch, each: dict[str | None, float]) -> None:
    """A document takes so many bytes with each preset."""

    def measured(model: Zipfel, train: Dataset, run: Run, held: int, limit: int) -> Growth:
        each_one = each[model.preset] / (2 if "max_words" in (model.vectorizer or {}) else 1)
        return Growth(110 * MB, train.n_points, each_one * train.n_points)

    def run_trial(model: Zipfel, sample: Dataset, run: Run, limit: int) -> dict[str, Any]:
        growth = measured(model, sample, run, 0, limit).bytes
        return {"warm": 10 * MB, "growth": growth, "peak": 110 * MB + growth, "is_over": False}

    monkeypatch.setattr(planning, "measured_growth", measured)
    monkeypatch.setattr(planning, "run_trial", run_trial)
    monkeypatch.setattr(planning, "held_memory", lambda: 100 * MB)


def test_the_fullest_plan_that_fits(data: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    set_growth(monkeypatch, {None: MB, "quick": MB / 3})
    run = Run(progress=Told())
    assert chosen_plan(Zipfel(), data, 4000 * MB, run) == Plan({}, 3000, 3110 * MB)
    assert chosen_plan(Zipfel(), data, 1400 * MB, run) == Plan({"preset": "quick"}, 3000, 1110 * MB)
    few = chosen_plan(Zipfel(), data, 600 * MB, run)
    assert few.changes == {"preset": "quick"}
    assert few.n_documents == pytest.approx(3 * (510 - 110), abs=1)
    assert few.estimate <= 510 * MB
    assert chosen_plan(Zipfel("knn", preset=None), data, 600 * MB, run).changes == {}
    texts = Dataset(data.Y, texts=["a word"] * 3000)
    assert chosen_plan(Zipfel(vectorizer={"ngrams": 2}), texts, 800 * MB, run).changes == {
        "preset": "quick",
        "vectorizer": {"ngrams": 2, "max_words": 64},
    }
    least = (100 + 110 + 100 / 3) / 0.85
    for limit in (50, 130, 270):
        with pytest.raises(ResourceError, match=f"^{limit} MB are not enough: .* 100 of .* needs {least + 1:.0f} MB"):
            chosen_plan(Zipfel(), data, limit * MB, run)


def test_where_an_estimate_is_near_the_limit_all_documents_are_tried(
    data: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_growth(monkeypatch, {None: MB, "quick": MB})
    asked: list[int] = []

    def run_trial(model: Zipfel, sample: Dataset, run: Run, limit: int) -> dict[str, Any]:
        asked.append(len(sample))
        return {"warm": 10 * MB, "growth": 2400 * MB, "peak": 0, "is_over": False}

    monkeypatch.setattr(planning, "run_trial", run_trial)
    assert chosen_plan(Zipfel(), data, 5000 * MB, Run()) == Plan({}, 3000, 3110 * MB)
    assert asked == []
    assert chosen_plan(Zipfel(), data, 3000 * MB, Run()) == Plan({}, 3000, 2510 * MB)
    assert asked == [3000]


def test_a_trial_decides_how_many_documents_fit(data: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    set_growth(monkeypatch, {None: MB, "quick": MB})
    asked: list[int] = []

    def run_trial(model: Zipfel, sample: Dataset, run: Run, limit: int) -> dict[str, Any]:
        asked.append(len(sample))
        return {"warm": 0, "growth": 2 * MB * len(sample), "peak": 0, "is_over": len(asked) == 1}

    monkeypatch.setattr(planning, "run_trial", run_trial)
    plan = chosen_plan(Zipfel(), data, 600 * MB, Run())
    assert asked == [400, 280, 196]
    assert (plan.n_documents, plan.estimate) == (196, (100 + 392) * MB)
    monkeypatch.setattr(
        planning, "run_trial", lambda *_: {"warm": 0, "growth": 10**12, "peak": 10**12, "is_over": True}
    )
    with pytest.raises(ResourceError, match="not enough"):
        chosen_plan(Zipfel(), data, 600 * MB, Run())


def test_documents_of_a_plan_keep_one_of_each_label(data: Dataset) -> None:
    rows = chosen_documents(data, Plan({}, 400, 0), Run())
    assert len(rows) == len(np.unique(rows)) == 400
    assert (np.diff(rows) > 0).all()
    assert (data.take(rows).label_counts() > 0).sum() == (data.label_counts() > 0).sum()
    assert len(chosen_documents(data, Plan({}, 3, 0), Run())) == 3


def test_a_fit_that_reaches_the_limit_begins_again_with_fewer(data: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "chosen_plan", lambda *_: Plan({}, 3000, 1.0))

    def hungry(self: Zipfel, train: Dataset, run: Run) -> Zipfel:
        held = []
        for _ in range(len(train) // 100):  # 3 GB of all documents
            held.append(np.ones(100 * MB // 8))
            time.sleep(0.03)
            check_halted()
        self.training_ = {"n_points": len(train)}
        return self

    monkeypatch.setattr(Zipfel, "fit", hungry)
    told, model = Told(), Zipfel()
    limit = held_memory() + 1700 * MB
    plan = fit_within(model, data, limit, Run(progress=told))
    assert plan.n_documents == model.training_["n_points"] == 1470
    assert model.training_["memory"]["documents"] == "1470 of 3000"
    assert model.training_["memory"]["peak"] <= limit + 200 * MB
    assert sum("begins again" in message for message in told.messages) == 2


def test_samples_and_growth(data: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sample_sizes(200) == [200]
    assert sample_sizes(300) == [250, 300]
    assert sample_sizes(4000) == [500, 2000]
    assert sample_sizes(40_000) == [5000, 20_000]
    assert sample_sizes(10**7) == [10_000, 40_000]
    asked: list[int] = []

    def run_trial(model: Zipfel, sample: Dataset, run: Run, limit: int) -> dict[str, Any]:
        asked.append(len(sample))
        growth = min(limit, 1000 + 3 * len(sample))
        return {"warm": 7, "growth": growth, "is_over": growth == limit}

    monkeypatch.setattr(trial, "run_trial", run_trial)
    tight = measured_growth(Zipfel(), data, Run(), 100, 2900)
    assert asked == [375, 1500, 250, 375]
    assert tight.at(375) == pytest.approx(100 + 7 + 1000 + 3 * 375)
    growth = measured_growth(Zipfel(), data, Run(), 100, 10**9)
    assert growth.at(1500) == pytest.approx(107 + 5500)
    assert growth.at(375) == pytest.approx(107 + 2125, rel=0.2)
    assert growth.at(3000) == pytest.approx(107 + 10_000, rel=0.2)


def test_growth_is_a_power_of_the_documents() -> None:
    growth = Growth.of(100.0, (10, 50.0), (40, 150.0))
    assert growth.at(10) == pytest.approx(150)
    assert growth.at(160) == pytest.approx(100 + 450)
    assert growth.at(1600) == pytest.approx(100 + 4500)
    for n in (7, 40, 100, 160, 1000):
        assert growth.most_documents(growth.at(n) + 0.01) == n
    assert growth.most_documents(0) == 0
    assert Growth.of(0.0, (10, 0.0), (40, 100.0)).at(80) == 200
    assert Growth.of(0.0, (10, 10.0), (40, 1000.0)).at(80) == 2000


def test_a_sample_that_can_not_be_fitted_is_told(data: Dataset) -> None:
    blank = Dataset(data.Y[:, :0], data.X)
    with pytest.raises(ResourceError, match="no row has a label"):
        measured_growth(Zipfel(), blank, Run(), 0, 10**12)


def fit_tags(shared_data: Path, out: Path, limit: str) -> subprocess.CompletedProcess[str]:
    train = shared_data / "debian-tags" / "train.jsonl.gz"
    words = ["fit", train, "--preset", "quick", "--max-memory", limit, "--out", out, "--threads", "2"]
    command = [sys.executable, "-m", "zipfel", *map(str, words)]
    return subprocess.run(command, check=False, env=dict(os.environ), stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.parametrize(("limit", "is_whole"), [("2GB", True), ("380MB", True), ("270MB", False)])
def test_the_estimate_is_within_a_quarter_and_the_limit_is_kept(
    shared_data: Path, tmp_path: Path, limit: str, is_whole: bool
) -> None:
    out = tmp_path / "model"
    fit_tags(shared_data, out, limit).check_returncode()
    facts = json.loads((out / "config.json").read_text())["training"]["memory"]
    assert facts["peak"] <= facts["limit"]
    assert ("documents" not in facts) == is_whole
    assert facts["estimate"] == pytest.approx(facts["peak"], rel=0.25)


@pytest.mark.slow
@pytest.mark.shared
def test_the_least_that_is_needed_is_told_and_is_enough(shared_data: Path, tmp_path: Path) -> None:
    found = fit_tags(shared_data, tmp_path / "model", "100MB")
    told = re.search(r"needs (\d+) MB", found.stderr)
    assert found.returncode != 0
    assert told is not None
    fit_tags(shared_data, tmp_path / "model", f"{int(told[1]) * 1.1:.0f}MB").check_returncode()
