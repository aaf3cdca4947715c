"""Settings of one run besides its data: seed, threads, device, time budget, checkpoints and progress."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from zipfel.errors import ParameterError
from zipfel.system.log import LOGGER
from zipfel.system.threads import available_threads


class Task(Protocol):
    """One line of progress, e.g. an epoch or a pass over a file."""

    def advance(self, amount: float = 1, **shown: float | str) -> None:
        """`shown` is what stands beside the bar: loss=0.31, P1=0.62."""


class Progress(Protocol):
    """Shows what a run is doing."""

    def task(self, name: str, total: float | None = None) -> _TaskContext: ...

    def message(self, text: str) -> None:
        """A choice that was made inside: for the log."""

    def remark(self, text: str) -> None:
        """What the user should know."""


class _TaskContext(Protocol):
    def __enter__(self) -> Task: ...

    def __exit__(self, *error: object) -> None: ...


class _SilentTask:
    def advance(self, amount: float = 1, **shown: float | str) -> None:
        pass

    def __enter__(self) -> _SilentTask:
        return self

    def __exit__(self, *error: object) -> None:
        pass


class Silent:
    """Progress for a library call: nothing is printed but what the log is asked for."""

    def task(self, name: str, total: float | None = None) -> _SilentTask:
        return _SilentTask()

    def message(self, text: str) -> None:
        LOGGER.info(text)

    def remark(self, text: str) -> None:
        self.message(text)


def check_device(device: str) -> None:
    """Raises an error if the device is unknown or missing. zipfel never trains on another device than the user
    chose."""
    if device == "cpu":
        return
    kind, _, number = device.partition(":")
    if not (device in ("cuda", "mps") or (kind == "cuda" and number.isdecimal())):
        raise ParameterError(f"device must be cpu, cuda, cuda:N or mps, got {device!r}")
    import torch

    count = torch.cuda.device_count() if kind == "cuda" else int(torch.backends.mps.is_available())
    if int(number or 0) >= count:
        raise ParameterError(
            f"device {device} was asked for but torch sees {count or 'none'} of that kind; use cpu, or install a build "
            "of torch for it and its driver"
        )


@dataclass
class Run:
    """Handed to `Method.fit`; the same seed and threads give the same result.

    time_budget: seconds after which training stops well, with the best model so far.
    checkpoint: folder for resumable state; None keeps none. resume: go on from what is there.
    signature: what must be the same for that, e.g. hashes of the data, the labels and the parameters.
    feature_names, label_names: of the columns, where they are known, e.g. to look up word vectors or a label hierarchy.
    label_texts: (label, name, whether it is a preferred one) of labels whose names may stand in texts.
    label_vectors: (n_labels, dim) the user's embeddings of the labels' names, a row of zeros where there is none.
    propensity: A and B of PSP, the metric of rare labels; the bonus of auto for rare labels follows them.
    timings: seconds by phase, kept in the model and shown by `zipfel info`.
    curves: by phase, the loss and the validation metric of each epoch, kept in the model and shown by `zipfel report`.
    """

    seed: int = 0
    threads: int = field(default_factory=available_threads)
    device: str = "cpu"
    progress: Progress = field(default_factory=Silent)
    time_budget: float | None = None
    checkpoint: Path | None = None
    resume: bool = False
    feature_names: Sequence[str] | None = None
    label_names: Sequence[str] | None = None
    label_texts: Sequence[tuple[int, str, bool]] = ()
    label_vectors: npt.NDArray[np.float32] | None = None
    propensity: tuple[float, float] = (0.55, 1.5)
    signature: dict[str, str] = field(default_factory=dict)
    timings: dict[str, float] = field(default_factory=dict)
    curves: dict[str, list[dict[str, float]]] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        check_device(self.device)
        if not isinstance(self.threads, int) or self.threads < 1:
            raise ParameterError(f"threads must be a whole number from 1 on, got {self.threads!r}")
        if not isinstance(self.seed, int | np.integer) or self.seed < 0:
            raise ParameterError(f"seed must be a whole number from 0 on, got {self.seed!r}")

    def rng(self, *salt: int) -> np.random.Generator:
        """A generator of its own for each purpose, so that one part's draws do not shift another's."""
        return np.random.default_rng([self.seed, *salt])

    def time_left(self) -> float:
        if self.time_budget is None:
            return float("inf")
        return self.time_budget - (time.monotonic() - self.started)

    def part(self, share: float) -> Run:
        """The same run with a time budget of a share of what is left: for a first phase that leaves room for others."""
        left = None if self.time_budget is None else share * max(0.0, self.time_left())
        return replace(self, time_budget=left, started=time.monotonic())

    @contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        """Adds the seconds of the block to `timings[phase]`, and shows that it is at work."""
        start = time.monotonic()
        LOGGER.debug("%s begins", phase)
        try:
            with self.progress.task(phase):
                yield
        finally:
            seconds = time.monotonic() - start
            self.timings[phase] = self.timings.get(phase, 0.0) + seconds
            LOGGER.info("%s: %.2f s", phase, seconds)
