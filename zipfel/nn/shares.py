"""A batch in shares: each of several workers has some of its rows, and sees the others' where a loss needs them.

A process that trains alone has the whole batch: `together` and `own` hand on what they are given.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor


class Team(Protocol):
    """Processes that train one network together; all call the same methods in the same order."""

    rank: int
    size: int

    def add_up(self, numbers: Tensor) -> Tensor:
        """The sum of the workers' tensors, which have one shape, at every worker."""

    def exchange(self, parts: Sequence[Tensor], sizes: Sequence[int] | None = None) -> list[Tensor]:
        """Sends parts[i] to worker i; returns what each worker has sent here. The parts differ in their first dimension
        only. sizes: rows that come from each worker, where they are known."""


@dataclass(frozen=True)
class Share:
    """The rows from `first` to `last` of a batch of n_rows, which are one worker's.

    A batch may have fewer rows than there are workers. A worker without a row computes the first one: it takes part in
    every exchange, and its result does not count.
    """

    first: int
    last: int
    n_rows: int
    team: Team
    counts: bool = True

    @classmethod
    def of(cls, n_rows: int, team: Team) -> Share:
        first, last = _span(n_rows, team.rank, team.size)
        return cls(first, last, n_rows, team) if last > first else cls(0, 1, n_rows, team, counts=False)

    @property
    def weight(self) -> float:
        """What the mean over these rows weighs in the mean over the batch."""
        return (self.last - self.first) / self.n_rows if self.counts else 0.0

    def sizes(self) -> list[int]:
        """Rows of each worker that count."""
        spans = (_span(self.n_rows, rank, self.team.size) for rank in range(self.team.size))
        return [last - first for first, last in spans]


def _span(n_rows: int, rank: int, size: int) -> tuple[int, int]:
    return n_rows * rank // size, n_rows * (rank + 1) // size


_here = threading.local()
"""`share`: what this thread has of the batch that it trains on."""


def current_share() -> Share | None:
    """None in a process that trains alone."""
    share: Share | None = getattr(_here, "share", None)
    return share


@contextmanager
def use_share(share: Share | None) -> Iterator[None]:
    """Inside the block, `together` and `own` are about this share."""
    before, _here.share = current_share(), share
    try:
        yield
    finally:
        _here.share = before


def together(x: Tensor, dim: int = 0) -> Tensor:
    """The tensors of all workers along `dim`, in the order of the batch's rows. Gradients find their way back."""
    share = current_share()
    if share is None:
        return x
    whole: Tensor = _Together.apply(x.transpose(0, dim), share)  # type: ignore[no-untyped-call]
    return whole.transpose(0, dim)


def own(x: Tensor) -> Tensor:
    """This worker's rows of a tensor of the whole batch."""
    share = current_share()
    return x if share is None else x[share.first : share.last]


def batch_rows(x: Tensor) -> int:
    """The number of rows of the whole batch; x has this worker's rows."""
    share = current_share()
    return len(x) if share is None else share.n_rows


class _Together(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, share: Share) -> Tensor:
        ctx.share = share
        mine = x.detach().contiguous() if share.counts else x.detach()[:0]
        return torch.cat(share.team.exchange([mine] * share.team.size, share.sizes()))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        """Every worker's loss depends on these rows: the sum of what they say."""
        share: Share = ctx.share
        n_own = share.last - share.first
        parts = torch.split(grad.contiguous(), share.sizes())
        found = share.team.exchange(parts, [n_own if share.counts else 0] * share.team.size)
        if not share.counts:
            return grad.new_zeros(n_own, *grad.shape[1:]), None
        return torch.stack(found).sum(dim=0), None
