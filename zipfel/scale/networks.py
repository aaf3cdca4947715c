"""A paper's network fitted by several workers: Ray Train starts them, torch.distributed connects them.

Every worker runs the method's `fit` on all points. Inside it, each `Trainer` takes its share of every batch and its
rows of every table (`zipfel.training.sharded_table`); all workers compute the rest alike. The first worker hands in the
fitted state. If a worker dies, Ray Train starts all of them again, and they continue from the last epoch's
checkpoint. If the driver dies, or a process of Ray Train that leads the workers, a run with `resume` continues there.
"""

from __future__ import annotations

import tempfile
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import scipy.sparse as sp

from zipfel.errors import ResourceError, ZipfelError
from zipfel.methods import Method, Points
from zipfel.run import Run, Silent
from zipfel.scale.desk import Desk, Noted, Shown, ToldProgress
from zipfel.scale.shared_memory import writable
from zipfel.state import State
from zipfel.system.interrupts import check_halted
from zipfel.system.threads import set_threads
from zipfel.training.team import TorchTeam, use_team

RESTARTS = 5
"""How many times all workers are started again after one of them died."""
_LOOK = 0.2
"""Seconds after which the driver looks what the workers say."""


def fit_network(ray: Any, method: Method, train: Points, valid: Points | None, run: Run, workers: int) -> None:
    """`method.fit(train, valid, run)` by so many workers. On GPUs (run.device) they talk by NCCL, else by gloo.

    Checkpoints lie in run.checkpoint, which the workers of all machines must reach.
    """
    data = ray.put(tuple(None if points is None else Points(points.X, points.Y) for points in (train, valid)))
    desk = ray.remote(num_cpus=0, max_restarts=RESTARTS, max_task_retries=RESTARTS)(Desk).remote()
    _forget_unless_resumed(run)
    budget = None if run.time_budget is None else run.time_left()
    far = replace(run, progress=Silent(), timings={}, curves={}, time_budget=budget, resume=True)
    task = {"method": type(method), "config": method.config, "data": data, "run": far, "desk": desk}
    run.progress.message(f"{method.name}: trained by {workers} workers")
    with tempfile.TemporaryDirectory() as scratch, Shown(run.progress) as shown:
        folder = (Path(scratch) if run.checkpoint is None else run.checkpoint / "ray").resolve()
        launch = ray.remote(num_cpus=0, max_retries=0)(_launch)  # a process of its own, which can be cancelled
        launched = launch.remote(task, workers, run.device.startswith("cuda"), str(folder))
        try:
            ended = False
            while not ended:
                ended = bool(ray.wait([launched], timeout=_LOOK)[0])
                check_halted()
                shown.show(ray.get(desk.events.remote()))
            ray.get(launched)
            found: tuple[State, Noted] | None = ray.get(desk.result.remote())
        except ray.exceptions.RayError as error:
            reason = str(error).strip().splitlines()[-1]
            hint = "the same command with --resume goes on from the last epoch"
            raise ResourceError(f"the workers, or what leads them, failed ({reason:.200}): {hint}") from None
        finally:
            ray.cancel(launched, force=True)
            ray.kill(desk)  # workers that are left behind end when they next speak to it
    if found is None:
        raise ResourceError("the workers ended without a result: the same command with --resume goes on from there")
    state, noted = found
    run.timings.update(noted["timings"])
    run.curves.update(noted["curves"])
    method.restore(state, train.n_features, train.n_labels)


def _forget_unless_resumed(run: Run) -> None:
    """Workers that are started again resume, and must not find what another run has left."""
    if run.checkpoint is not None and not run.resume:
        for left in run.checkpoint.glob("*.tensors"):
            left.unlink()


def _launch(task: dict[str, Any], workers: int, gpu: bool, folder: str) -> None:
    """Ray Train's own loop, which returns when the workers have ended."""
    from ray.train import FailureConfig, RunConfig, ScalingConfig
    from ray.train.torch import TorchConfig, TorchTrainer

    each = {"CPU": 1.0} | ({"GPU": 1.0} if gpu else {})
    TorchTrainer(
        _work,
        train_loop_config=task,
        torch_config=TorchConfig(backend="nccl" if gpu else "gloo"),
        scaling_config=ScalingConfig(num_workers=workers, use_gpu=gpu, resources_per_worker=each),
        run_config=RunConfig(name="fit", storage_path=folder, failure_config=FailureConfig(max_failures=RESTARTS)),
    ).fit()


def _shared(matrix: sp.csr_matrix) -> sp.csr_matrix:
    """The same matrix in the memory that all workers of a machine share, as kernels take it."""
    arrays = (writable(array) for array in (matrix.data, matrix.indices, matrix.indptr))
    return sp.csr_matrix(tuple(arrays), shape=matrix.shape)


def _work(task: dict[str, Any]) -> None:
    """In each worker."""
    import ray
    from ray.train import get_context
    from ray.train.torch import get_device

    desk, run = task["desk"], task["run"]
    rank = get_context().get_world_rank()
    ray.get(desk.begin.remote(rank))
    train, valid = (points and Points(_shared(points.X), _shared(points.Y)) for points in ray.get(task["data"]))
    device = "cpu" if run.device == "cpu" else str(get_device())
    mine = replace(run, device=device, threads=1, timings={}, curves={})
    mine = replace(mine, progress=ToldProgress(desk) if rank == 0 else Silent(), started=time.monotonic())
    set_threads(1)
    method: Method = task["method"](task["config"])
    try:
        with use_team(TorchTeam(device)):
            method.fit(train, valid, mine)
    except ZipfelError as error:
        with suppress(Exception):
            ray.get(desk.tell.remote(("error", error)))
        raise
    if rank == 0:
        ray.get(desk.hand_in.remote(method.state(), {"timings": mine.timings, "curves": mine.curves}))
