"""Ray as executor: a local cluster that ends with its `with` block, or an existing cluster.

A task whose worker dies is run again by Ray, `RETRIES` times. Arrays that tasks share lie in Ray's object store, once a
machine, and are read where they lie.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from zipfel.errors import MissingExtraError, ParameterError, ResourceError, ZipfelError
from zipfel.executor import Arrays, Work, use_executor
from zipfel.methods import Method, Points
from zipfel.run import Progress, Run, Silent
from zipfel.scale.finished import FinishedTasks
from zipfel.scale.shared_memory import writable
from zipfel.system.interrupts import check_halted
from zipfel.system.threads import use_threads

RETRIES = 5
"""How many times a task is run again whose worker died."""
_STARTS = 3
"""Times that a local cluster is started; Ray gives up after 30 s, which a busy machine may need."""
_SETTINGS = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}
"""Of Ray, where the user has set none. By default, workers of a local cluster yield to all other programs."""
_LOOK = 0.2
"""Seconds after which the driver looks whether the work is still wanted."""


@contextmanager
def ray_cluster(workers: int, address: str | None = None) -> Iterator[Any]:
    """The module `ray`, connected: to the cluster at `address`, or to one of `workers` processes on this machine that
    ends with the block.

    address: what `ray.init` takes, e.g. "auto" or "ray://host:10001"; zipfel must be installed on its machines.
    """
    ray = _import_ray()
    if workers < 1:
        raise ParameterError(f"workers must be a whole number from 1 on, got {workers!r}")
    if ray.is_initialized():  # by the program around; it stays
        yield ray
        return
    logging.getLogger("ray").setLevel(logging.ERROR)
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    _keep_stdout_clean()
    for attempt in range(_STARTS):
        try:
            _connect(ray, workers, address)
            break
        except Exception as error:  # noqa: BLE001 - Ray raises nothing more specific
            ray.shutdown()
            if address is None and "timed out" in str(error) and attempt + 1 < _STARTS:
                continue  # a busy machine
            where = f"the Ray cluster at {address!r}" if address else "a local Ray cluster"
            raise ResourceError(f"{where} can't be used: {str(error).splitlines()[0]:.200}") from None
    try:
        yield ray
    finally:
        ray.shutdown()


@contextmanager
def workers_for(run: Run, workers: int | None, address: str | None = None) -> Iterator[None]:
    """Separable work of this run goes to so many workers inside the block; None: this process does all.

    What is finished is kept in the run's checkpoint, and a run that resumes goes on from it.
    """
    if workers is None:
        if address is not None:
            raise ParameterError("address needs workers: how many of the cluster's cores to use")
        yield
        return
    finished = None if run.checkpoint is None else run.checkpoint / "tasks"
    with (
        ray_cluster(workers, address) as ray,
        use_executor(RayExecutor(ray, workers, finished=finished, progress=run.progress)),
    ):
        yield


def _connect(ray: Any, workers: int, address: str | None) -> None:
    quiet = {"log_to_driver": False, "logging_level": "error", "configure_logging": False}
    if address is None:
        ray.init(num_cpus=workers, include_dashboard=False, **quiet)
    else:
        ray.init(address=address, **quiet)


def _keep_stdout_clean() -> None:
    """Ray tells on standard output when a worker dies, between the answers; it goes to standard error instead."""
    from ray._private import worker

    printing = getattr(worker, "print_to_stdstream", None)
    if printing is not None and not isinstance(printing, partial):
        worker.print_to_stdstream = partial(_to_stderr, printing)


def _to_stderr(printing: Any, data: Any, *rest: Any, **named: Any) -> None:
    printing({**data, "is_err": True}, *rest, **named)


class RayExecutor:
    """Tasks on a cluster. finished: a folder of results from which a later run goes on; None keeps none."""

    def __init__(
        self, ray: Any, n_workers: int, *, finished: Path | None = None, progress: Progress | None = None
    ) -> None:
        self.n_workers = n_workers
        self._ray, self._finished, self._progress = ray, FinishedTasks(finished), progress or Silent()

    def map(self, work: Work, shared: Sequence[Any], tasks: Sequence[tuple[Any, ...]]) -> list[Arrays]:
        """See `Executor.map`."""
        key = self._finished.key(work, shared)
        found: list[Arrays | None] = [self._finished.load(key, task) for task in tasks]
        missing = [i for i, result in enumerate(found) if result is None]
        name = work.__name__.strip("_").replace("_", " ")
        with self._progress.task(f"{name} by {self.n_workers} workers", total=len(tasks)) as shown:
            shown.advance(len(tasks) - len(missing))
            if missing:
                place = self._ray.put(tuple(shared))
                remote = self._ray.remote(max_retries=RETRIES)(run_task)
                running = {remote.remote(work, place, tasks[i]): i for i in missing}
                for reference, result in self._as_they_end(list(running)):
                    i = running[reference]
                    found[i] = result
                    self._finished.save(key, tasks[i], result)
                    shown.advance(1)
        return [result for result in found if result is not None]

    def fit(self, method: Method, train: Points, valid: Points | None, run: Run) -> None:
        """See `Executor.fit`."""
        from zipfel.scale.networks import fit_network  # it needs torch

        fit_network(self._ray, method, train, valid, run, self.n_workers)

    def _as_they_end(self, references: list[Any]) -> Iterator[tuple[Any, Arrays]]:
        try:
            while references:
                ended, references = self._ray.wait(references, timeout=_LOOK)
                check_halted()
                for reference in ended:
                    yield reference, fetched(self._ray, reference)
        finally:
            for reference in references:
                self._ray.cancel(reference, force=True)


def fetched(ray: Any, reference: Any) -> Any:
    """A task's result; its error is one of ours."""
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, ZipfelError):
            raise error.cause from None
        raise
    except ray.exceptions.RayError as error:
        first = str(error).strip().splitlines()[0]
        raise ResourceError(f"a task failed {RETRIES + 1} times because its worker died: {first:.200}") from None


def run_task(work: Work, shared: tuple[Any, ...], task: tuple[Any, ...]) -> Arrays:
    """In a worker: on one thread, as each worker has a core."""
    with use_threads(1):
        return work(*(writable(value) for value in shared), *(writable(value) for value in task))


def _import_ray() -> Any:
    try:
        import ray
        import ray.exceptions
    except ImportError:
        raise MissingExtraError("ray", "scale", "working with several workers") from None
    return ray
