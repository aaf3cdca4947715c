"""Where the separable work of a part runs and where the weights of labels are kept: in this process or in the workers
of a cluster.

A part that can be cut into independent tasks asks `current_executor`. Where there is none, it works as always. Where
there is one, it hands over a function of the module level, what all tasks share, and the tasks. What comes back is the
same in either case: an executor decides where work is done, not what is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy.typing as npt

Arrays = tuple[npt.NDArray[Any], ...]
Work = Callable[..., Arrays]


class Executor(Protocol):
    """Runs tasks somewhere else."""

    n_workers: int

    def map(self, work: Work, shared: Sequence[Any], tasks: Sequence[tuple[Any, ...]]) -> list[Arrays]:
        """work(*shared, *task) for each task, in their order.

        shared: arrays, numbers and strings. The arrays may lie in memory that all workers see, so that `work` must
        not write to them. Each task gives a tuple of arrays.
        """

    def fit(self, method: Any, train: Any, valid: Any, run: Any) -> None:
        """`method.fit(train, valid, run)` of a method that trains a network, by all workers together."""


_current: Executor | None = None


def current_executor() -> Executor | None:
    """The executor of this process's work; None where the process works alone."""
    return _current


@contextmanager
def use_executor(executor: Executor | None) -> Iterator[None]:
    """Separable work inside the block goes to this executor.

    >>> class Here:
    ...     n_workers = 1
    ...     def map(self, work, shared, tasks):
    ...         return [work(*shared, *task) for task in tasks]
    >>> with use_executor(Here()):
    ...     current_executor().map(lambda a, b: (np.add(a, b),), [np.ones(1)], [(1,), (2,)])
    [(array([2.]),), (array([3.]),)]
    """
    global _current
    before, _current = _current, executor
    try:
        yield
    finally:
        _current = before


class LabelShards(Protocol):
    """Scores labels somewhere else, where each worker holds the weights of some labels only."""

    def score(self, classifiers: Any, X: Any, labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """What `classifiers.score(X, labels)` gives, but for the order of additions."""


_shards: LabelShards | None = None


def current_label_shards() -> LabelShards | None:
    """Who scores labels for this process; None where it does so itself."""
    return _shards


@contextmanager
def use_label_shards(shards: LabelShards) -> Iterator[None]:
    """Inside the block these shards score all labels of classifiers."""
    global _shards
    before, _shards = _shards, shards
    try:
        yield
    finally:
        _shards = before
