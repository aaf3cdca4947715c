"""A local cluster of two workers: the same results, whatever happens to a worker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from zipfel import Zipfel
from zipfel.data import Dataset, synth
from zipfel.errors import DataError, MissingExtraError, ParameterError
from zipfel.executor import Arrays, use_executor
from zipfel.run import Run
from zipfel.scale import cluster as of_cluster
from zipfel.scale.cluster import RayExecutor, ray_cluster, workers_for
from zipfel.scale.predicting import predict_partitions

pytest.importorskip("ray")


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    with ray_cluster(2) as found:
        yield found


@pytest.fixture(scope="module")
def data() -> Dataset:
    return synth(6000, 3000, 300, features_per_point=15, labels_per_point=2)


def parts(data: Dataset, size: int) -> Iterator[Dataset]:
    for start in range(0, data.n_points, size):
        yield data.take(np.arange(start, min(start + size, data.n_points)))


def test_a_model_fitted_by_workers_is_the_same_and_predicts_the_same(ray: Any, data: Dataset, tmp_path: Path) -> None:
    alone, shared = (Zipfel("auto", preset="quick", threads=1) for _ in range(2))
    alone.fit(data)
    with use_executor(RayExecutor(ray, 2, finished=tmp_path / "tasks")):
        shared.fit(data)
    assert len(list((tmp_path / "tasks").iterdir())) > 4
    alone.save(tmp_path / "alone")
    shared.save(tmp_path / "shared")
    assert (tmp_path / "alone" / "tensors.safetensors").read_bytes() == (
        tmp_path / "shared" / "tensors.safetensors"
    ).read_bytes()
    asked = [*enumerate(parts(data, 700)), (9, data.take(np.arange(0)))]
    found = list(predict_partitions(tmp_path / "alone", asked, 5, workers=2))
    assert [name for name, _ in found] == list(range(10))
    assert found[-1][1] is None
    expected = [alone.predict(part, 5) for part in parts(data, 700)]
    for (_, ranking), other in zip(found[:-1], expected, strict=True):
        assert ranking is not None
        assert np.array_equal(ranking.labels, other.labels)
        assert ranking.scores.tobytes() == other.scores.tobytes()


def test_only_what_is_not_finished_is_done_again(ray: Any, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    trace.mkdir()

    def work(add: np.ndarray, fails: str, i: int) -> Arrays:
        (trace / f"{i}-{os.getpid()}-{len(list(trace.iterdir()))}").touch()
        if i == 3 and Path(fails).exists():
            raise DataError("the third is broken")
        return (add + i,)

    fails = tmp_path / "fails"
    fails.touch()
    shared, tasks = (np.arange(5), str(fails)), [(i,) for i in range(5)]
    with pytest.raises(DataError, match="the third is broken"):
        RayExecutor(ray, 2, finished=tmp_path / "tasks").map(work, shared, tasks)
    kept = len(list((tmp_path / "tasks").iterdir()))
    fails.unlink()
    for path in trace.iterdir():
        path.unlink()
    found = RayExecutor(ray, 2, finished=tmp_path / "tasks").map(work, shared, tasks)
    assert [result[0].tolist() for result in found] == [list(range(i, i + 5)) for i in range(5)]
    assert len(list(trace.iterdir())) == 5 - kept


def test_a_task_whose_worker_is_killed_is_done_again(ray: Any, tmp_path: Path) -> None:
    def work(folder: str, i: int) -> Arrays:
        mark = Path(folder) / f"died-{i}"
        if i % 2 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return (np.array([i]),)

    found = RayExecutor(ray, 2).map(work, (str(tmp_path),), [(i,) for i in range(6)])
    assert [int(result[0][0]) for result in found] == list(range(6))
    assert len(list(tmp_path.iterdir())) == 3


def test_shared_arrays_look_writable_and_are_not_copied(ray: Any) -> None:
    def work(array: np.ndarray) -> Arrays:
        return np.array([array.flags.writeable]), array.sum(keepdims=True)

    found = RayExecutor(ray, 2).map(work, (np.arange(1_000_000),), [()])
    assert found[0][0].tolist() == [True]
    assert found[0][1].tolist() == [499999500000]


def test_workers_have_the_driver_s_priority(ray: Any) -> None:
    def work() -> Arrays:
        return (np.array([os.nice(0)]),)

    assert int(RayExecutor(ray, 2).map(work, (), [()])[0][0][0]) == os.nice(0)


def test_what_cannot_be_is_refused(ray: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ParameterError, match="workers"), ray_cluster(0):
        pass
    with pytest.raises(ParameterError, match="address"), workers_for(Run(), None, "auto"):
        pass
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"zipfel\[scale\]"):
        of_cluster._import_ray()


def test_nobody_imports_ray_unasked() -> None:
    code = "import sys, zipfel, zipfel.cli.main, zipfel.cli.fit; sys.exit('ray' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
