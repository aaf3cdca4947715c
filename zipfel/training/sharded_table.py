"""`ShardedTable`: a table whose rows are shared out among workers, which send each other the touched ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from zipfel.nn.shares import Team
from zipfel.nn.table import Table


@dataclass(frozen=True)
class _Route:
    """Where the rows of one step come from, and where their gradients go.

    order: (u,) the asked ids by their owner; counts: how many each owner has. wanted: how many rows each worker asked
    here; distinct: (v,) which of this worker's rows those are; place: (sum of wanted,) of each among the distinct.
    """

    order: Tensor
    counts: list[int]
    wanted: list[int]
    distinct: Tensor
    place: Tensor


class ShardedTable:
    """The rows rank, rank + n, rank + 2 n, ... of a table, with their optimiser's state, at each of n workers.

    A step gathers the rows that it touches from their owners, and returns their gradients to them. The owner adds up
    the gradients of a row and takes one optimiser step. `away` begins an epoch with the weights of the whole table;
    `home` gives every worker all weights that have changed.
    """

    def __init__(self, table: Table, team: Team, device: torch.device) -> None:
        self._table, self._team, self._device = table, team, device
        self._own = table.alike(self._mine(table.weights).to(device))
        self._changed = torch.zeros(len(self._own), dtype=torch.bool)
        self._route: _Route | None = None

    def _mine(self, whole: Tensor) -> Tensor:
        """A copy of this worker's rows."""
        return whole[self._team.rank :: self._team.size].clone()

    def rows(self, ids: Tensor) -> Tensor:
        """(u, dim) copies of the rows `ids`, a leaf that collects this worker's gradient."""
        size = self._team.size
        owners = ids.cpu() % size
        order, counts = torch.argsort(owners, stable=True), torch.bincount(owners, minlength=size).tolist()
        asked = self._team.exchange(torch.split(ids.cpu()[order] // size, counts))
        wanted = [len(part) for part in asked]
        distinct, place = torch.unique(torch.cat(asked), return_inverse=True)
        answers = self._own.rows(distinct).detach()[place.to(self._device)]
        found = torch.cat(self._team.exchange(torch.split(answers, wanted), counts))
        self._route = _Route(order, counts, wanted, distinct, place)
        return torch.empty_like(found).index_copy_(0, order.to(self._device), found).requires_grad_()

    def update(self, ids: Tensor, grad: Tensor, lr: float) -> None:  # noqa: ARG002 - those of `rows`
        """One optimiser step on all rows that any worker touched since the last, with the sum of their gradients."""
        route = self._route
        assert route is not None
        parts = torch.split(grad[route.order.to(self._device)], route.counts)
        found = torch.cat(self._team.exchange(parts, route.wanted))
        total = found.new_zeros(len(route.distinct), found.shape[1])
        self._own.update(route.distinct, total.index_add_(0, route.place.to(self._device), found), lr)
        self._changed[route.distinct] = True

    def settle(self) -> None:
        """See `Table.settle`."""
        self._own.settle()
        if self._own.optimizer == "sgd":  # rows that rest move, too
            self._changed[:] = True

    def away(self, device: torch.device) -> None:  # noqa: ARG002 - the rows are there already
        """This worker's rows begin with what the whole table has."""
        self._own.weights.copy_(self._mine(self._table.weights))

    def home(self) -> None:
        """The whole table has what was learnt, at every worker; only rows that changed are sent."""
        size = self._team.size
        changed = self._changed.nonzero()[:, 0]
        places = self._team.exchange([changed] * size)
        rows = self._team.exchange([self._own.weights[changed.to(self._device)]] * size, [len(p) for p in places])
        for rank, (at, found) in enumerate(zip(places, rows, strict=True)):
            self._table.weights[at * size + rank] = found.to(self._table.weights.device)
        self._changed[:] = False

    def state(self) -> dict[str, Tensor]:
        """Of the whole table as one process has it, at the first worker; nothing at the others."""
        team, found = self._team, {"weights": self._table.weights}
        for name, tensor in self._own.state().items():
            if name in ("weights", "clock"):
                continue
            parts = team.exchange([tensor.cpu(), *[tensor.cpu()[:0]] * (team.size - 1)])
            if team.rank == 0:
                found[name] = torch.empty_like(getattr(self._table, name))
                for rank, part in enumerate(parts):
                    found[name][rank :: team.size] = part
        if self._own.clock is not None:
            found["clock"] = self._own.clock
        return found if team.rank == 0 else {}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Of `state`, or of a process that trained alone."""
        self._table.weights.copy_(state["weights"])
        self._own.restore({name: t if name == "clock" else self._mine(t) for name, t in state.items()})
