from __future__ import annotations

import sys
from pathlib import Path

import pytest

from zipfel.bench.runner import Bench, append_record, read_records
from zipfel.bench.sources import Source, find_source
from zipfel.bench.systems import Contestant, our_methods

CHILD = """
import json, sys, time
from pathlib import Path
import numpy as np
folder = Path(sys.argv[3]).parent
job = json.loads(Path(sys.argv[3]).read_text())
with open(sys.argv[1], "a") as log:
    log.write(f"{sys.argv[2]} {job['seed']}\\n")
if job["system"] == "slow":
    time.sleep(60)
if job["system"] == "broken":
    raise SystemExit("no more memory")
np.save(folder / "labels.npy", np.array([[1, 0, -1, -1, -1], [0, -1, -1, -1, -1]]))
measured = ("train_seconds", "train_peak_mb", "peak_mb", "model_mb", "batch_ms", "single_ms")
(folder / "result.json").write_text(json.dumps({name: 1.0 for name in measured}))
"""


@pytest.fixture
def source(tmp_path: Path) -> Source:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "train.txt").write_text("3 3 2\n0 0:1 1:1\n1 2:4\n0,1 0:2\n")
    (folder / "test.txt").write_text("2 3 2\n1 2:1\n1 0:1\n")
    return find_source(str(folder))


def contestant(tmp_path: Path, name: str, *, ours: bool = False) -> Contestant:
    script = tmp_path / "child.py"
    script.write_text(CHILD)
    return Contestant(name, "1.0", (sys.executable, str(script), str(tmp_path / "calls")), ours)


def bench(tmp_path: Path, *, seeds: tuple[int, ...] = (1, 2), timeout: float = 60) -> Bench:
    return Bench(tmp_path / "out", 1, seeds, weighting="l2", timeout=timeout, say=lambda _: None)


def test_a_record_has_measurements_metrics_and_buckets(tmp_path: Path, source: Source) -> None:
    (record,) = bench(tmp_path, seeds=(3,)).run([source], [contestant(tmp_path, "peer")])
    assert record["status"] == "ok"
    assert (record["data"], record["system"], record["seed"], record["threads"]) == ("data", "peer", 3, 1)
    assert record["metrics"]["P@1"] == 0.5
    assert record["metrics"]["P@1[tail]"] == 0.5
    assert record["train_seconds"] == 1.0
    assert list(read_records(tmp_path / "out" / "runs.jsonl")) == [record]
    assert not list((tmp_path / "out").glob("run-*"))


def test_other_propensities_are_another_run(tmp_path: Path, source: Source) -> None:
    usual = bench(tmp_path, seeds=(1,))
    own = Bench(usual.out, 1, (1,), weighting="l2", say=lambda _: None, propensity="0.6,2.6")
    (one,), (other,) = (b.run([source], [contestant(tmp_path, "peer")]) for b in (usual, own))
    assert one["key"] != other["key"]
    assert one["metrics"]["P@1"] == other["metrics"]["P@1"]


def test_finished_runs_are_not_repeated(tmp_path: Path, source: Source) -> None:
    ours = contestant(tmp_path, "ours", ours=True)
    bench(tmp_path, seeds=(1,)).run([source], [ours])
    records = bench(tmp_path, seeds=(1, 2)).run([source], [ours])
    assert [record["seed"] for record in records] == [1, 2]
    assert (tmp_path / "calls").read_text().split("\n")[:-1] == ["warm-up 1", "run 1", "warm-up 2", "run 2"]


def test_a_failed_run_is_told_and_tried_again(tmp_path: Path, source: Source) -> None:
    broken = contestant(tmp_path, "broken")
    for _ in range(2):
        (record,) = bench(tmp_path).run([source], [broken])  # the second seed is spared
        assert record["status"].startswith("failed: no more memory (see ")
    assert (tmp_path / "calls").read_text() == "run 1\n" * 2


def test_a_slow_run_is_given_up(tmp_path: Path, source: Source) -> None:
    (record,) = bench(tmp_path, timeout=2).run([source], [contestant(tmp_path, "slow")])
    assert record["status"] == "given up after 2 s"


def test_a_line_that_was_cut_short_spoils_nothing(tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    file.write_text('{"key": "a", "status": "ok"}\n{"key": "b", "sta')
    append_record(file, {"key": "c", "status": "ok"})
    assert [record["key"] for record in read_records(file)] == ["a", "c"]


def test_one_of_our_methods_from_end_to_end(tmp_path: Path, source: Source) -> None:
    (record,) = bench(tmp_path, seeds=(1,)).run([source], our_methods(["popular"]))
    assert record["status"] == "ok"
    assert record["model_mb"] > 0
    assert record["metrics"]["R@3"] == 1.0  # there are but two labels
