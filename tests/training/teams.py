"""A team of threads, for tests of what several processes do together."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch
from torch import Tensor

from zipfel.system.threads import use_threads
from zipfel.training.team import use_team

T = TypeVar("T")


class ThreadTeam:
    """One member; `sent` and `barrier` are all members'."""

    def __init__(self, rank: int, sent: list[Sequence[Tensor]], barrier: threading.Barrier) -> None:
        self.rank, self.size = rank, len(sent)
        self._sent, self._barrier = sent, barrier

    def exchange(self, parts: Sequence[Tensor], sizes: Sequence[int] | None = None) -> list[Tensor]:
        assert len(parts) == self.size
        self._sent[self.rank] = [part.detach().clone() for part in parts]
        self._barrier.wait(timeout=60)
        found = [self._sent[rank][self.rank] for rank in range(self.size)]
        self._barrier.wait(timeout=60)
        assert sizes is None or [len(part) for part in found] == list(sizes)
        return found

    def add_up(self, numbers: Tensor) -> Tensor:
        return torch.stack(self.exchange([numbers] * self.size)).sum(dim=0)


def by_team(size: int, work: Callable[[ThreadTeam], T]) -> list[T]:
    """work(member) of each member, in a thread of its own; the first error ends all."""
    sent: list[Sequence[Tensor]] = [()] * size
    barrier = threading.Barrier(size)

    def member(rank: int) -> T:
        team = ThreadTeam(rank, sent, barrier)
        try:
            with use_threads(1), use_team(team):
                return work(team)
        except BaseException:
            barrier.abort()
            raise

    with ThreadPoolExecutor(size) as pool:
        results = [pool.submit(member, rank) for rank in range(size)]
    errors = [result.exception() for result in results]
    for error in errors:
        if error is not None and not isinstance(error, threading.BrokenBarrierError):
            raise error
    return [result.result() for result in results]
