"""Several processes that train one network: what they say to each other, by torch.distributed."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from zipfel.errors import ResourceError
from zipfel.nn.shares import Team
from zipfel.system.threads import use_threads

_here = threading.local()
"""`team`: those that this thread trains with."""


def current_team() -> Team | None:
    """The workers with which this process trains; None where it trains alone."""
    team: Team | None = getattr(_here, "team", None)
    return team


@contextmanager
def use_team(team: Team | None) -> Iterator[None]:
    """Within the block, every `Trainer` of this thread takes its share of each batch. It uses one thread, so that
    all workers train in the same order.

    >>> with use_team(None):
    ...     current_team() is None
    True
    """
    before, _here.team = current_team(), team
    try:
        with use_threads(None if team is None else 1):
            yield
    finally:
        _here.team = before


class TorchTeam:
    """`Team` of the processes of torch's default group: gloo takes tensors of the CPU, NCCL those of GPUs."""

    def __init__(self, device: torch.device | str = "cpu") -> None:
        from torch import distributed

        self._calls, self._device = distributed, torch.device(device)
        self.rank, self.size = distributed.get_rank(), distributed.get_world_size()

    def add_up(self, numbers: Tensor) -> Tensor:
        """See `Team.add_up`."""
        total = numbers.to(self._device, copy=True)
        self._calls.all_reduce(total)
        return total.to(numbers.device)

    def exchange(self, parts: Sequence[Tensor], sizes: Sequence[int] | None = None) -> list[Tensor]:
        """See `Team.exchange`."""
        counts = [len(part) for part in parts]
        if sizes is None:
            told = torch.empty(self.size, dtype=torch.int64, device=self._device)
            self._calls.all_to_all_single(told, torch.tensor(counts, device=self._device))
            sizes = told.tolist()
        sent = torch.cat(list(parts)).to(self._device)
        found = sent.new_empty(sum(sizes), *sent.shape[1:])
        self._calls.all_to_all_single(found, sent, list(sizes), counts)
        return list(torch.split(found.to(parts[0].device), list(sizes)))


def agreed(team: Team | None, value: float) -> float:
    """The first worker's value, at every worker: where clocks and rounding may differ, one of them decides."""
    if team is None:
        return value
    return float(team.add_up(torch.tensor([value if team.rank == 0 else 0.0], dtype=torch.float64)))


def check_agreement(team: Team, signature: Mapping[str, Any]) -> None:
    """Raises where the workers are about to train different things, instead of waiting for each other forever."""
    digest = hashlib.blake2b(json.dumps(signature, sort_keys=True).encode(), digest_size=4).digest()
    mine = float(int.from_bytes(digest, "big"))
    total = team.add_up(torch.tensor([mine, mine * mine], dtype=torch.float64))
    if total[0] != team.size * mine or total[1] != team.size * mine * mine:
        raise ResourceError(
            "the workers came to different choices, as their machines compute differently; use machines of one kind"
        )


def add_up_gradients(team: Team, parameters: Sequence[Tensor], loss: float) -> float:
    """Sets each parameter's gradient to the sum of the workers', in one message; returns the sum of their losses.

    A parameter without a gradient at any worker stays without.
    """
    device = parameters[0].device if parameters else torch.device("cpu")
    has = [float(p.grad is not None) for p in parameters]
    grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
    head = torch.tensor([loss, *has], device=device)
    total = team.add_up(torch.cat([head, *(grad.flatten() for grad in grads)]))
    at = len(head)
    for parameter, anyone in zip(parameters, total[1:at].tolist(), strict=True):
        parameter.grad = total[at : at + parameter.numel()].view_as(parameter).clone() if anyone else None
        at += parameter.numel()
    return float(total[0])
