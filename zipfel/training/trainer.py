"""The one loop: epochs of batches, schedule, clipping, validation, early stop, checkpoints, time budget, progress."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from zipfel.errors import ModelFileError, ParameterError
from zipfel.kernels.choice import kernels_are_off
from zipfel.nn.seeded import Dropout
from zipfel.nn.shares import use_share
from zipfel.nn.table import Table
from zipfel.run import Run, Task
from zipfel.system.memory import check_memory
from zipfel.system.threads import check_halted, get_threads, library_threads
from zipfel.training.adam import DenseAdam
from zipfel.training.batches import Batch, Batches
from zipfel.training.checkpoint import differences, prefixed, read_checkpoint, under, write_checkpoint
from zipfel.training.schedule import rate_at
from zipfel.training.sgd import DenseSgd
from zipfel.training.sharded_table import ShardedTable
from zipfel.training.team import add_up_gradients, agreed, check_agreement, current_team

Objective = Callable[[Batch, Mapping[str, Tensor]], Tensor]


class Stateful(Protocol):
    """Something else that a checkpoint must hold, e.g. a shortlist that is rebuilt only every few epochs."""

    def state(self) -> dict[str, Tensor]: ...

    def restore(self, state: Mapping[str, Tensor]) -> None: ...


@dataclass(frozen=True)
class Plan:
    """How long and how fast. lr: peak rate; schedule: constant, linear or cosine, after `warmup` (a share of all
    steps). clip: largest norm of all gradients together. patience: epochs without a better validation value after which
    training stops; None trains to the end. Either way the best epoch's weights are kept, or those of the last epoch
    within `tolerance` of the best. A small validation set gives noisy values, and a later epoch has made smaller steps.
    optimizer: of the module, adam or sgd with `momentum` and `decay`; a table has its own."""

    epochs: int = 10
    lr: float = 1e-3
    schedule: str = "linear"
    warmup: float = 0.0
    clip: float | None = None
    patience: int | None = None
    tolerance: float = 0.0
    metric: str = "P@1"
    optimizer: str = "adam"
    momentum: float = 0.9
    decay: float = 0.0


@dataclass
class History:
    """What happened, epoch by epoch: {"epoch", "loss", "seconds", and the metric where there is validation}."""

    epochs: list[dict[str, float]] = field(default_factory=list)
    best_epoch: int = -1
    best: float = -math.inf
    stopped: str = ""

    def curve(self) -> list[dict[str, float]]:
        """Of each epoch its number from 1 on, the loss, and the metric where there is validation."""
        return [
            {name: round(value + (name == "epoch"), 6) for name, value in facts.items() if name != "seconds"}
            for facts in self.epochs
        ]


class Trainer:
    """Trains `tables` row-sparsely and `module` densely on `objective(batch, rows)`.

    objective: gets a `Batch` and, by table name, the gathered rows (u, dim) for batch.ids[name]; returns the loss.
    validate: the value to raise, asked after every epoch. before_epoch: called with the epoch's number before its
    batches are built. kept: further state for checkpoints. name: of the phase; its checkpoint is <name>.tensors.

    Steps are taken on run.device. Between epochs tables and module are at home on the CPU, where `before_epoch`,
    `validate`, checkpoints and whoever calls find them.

    Made inside `use_team`, it trains together with the same trainer in other processes: each takes its share of every
    batch and its rows of every table (`ShardedTable`), and the first validates and writes checkpoints. What comes out
    is what one process computes, but for the order of additions.
    """

    def __init__(
        self,
        run: Run,
        batches: Batches,
        objective: Objective,
        plan: Plan,
        *,
        tables: Mapping[str, Table] | None = None,
        module: nn.Module | None = None,
        validate: Callable[[], float] | None = None,
        before_epoch: Callable[[int], None] | None = None,
        kept: Mapping[str, Stateful] | None = None,
        name: str = "training",
    ) -> None:
        self.run, self.batches, self.objective, self.plan, self.name = run, batches, objective, plan, name
        self.tables, self.module, self.kept = dict(tables or {}), module, dict(kept or {})
        self.validate, self.before_epoch = validate, before_epoch
        self._dense = [] if module is None else [p for p in module.parameters() if p.requires_grad]
        self._optimizer = _dense_optimizer(plan, self._dense)
        self._generator = torch.Generator()
        self._dropouts = [] if module is None else [part for part in module.modules() if isinstance(part, Dropout)]
        self._best: dict[str, Tensor] = {}
        self._steps, self._keeps = 0, True
        self._device = torch.device(run.device)
        self._team = team = current_team()
        self._shards = {n: ShardedTable(t, team, self._device) for n, t in self.tables.items()} if team else {}
        self.history = History()

    def fit(self) -> History:
        """Runs all epochs (or what resume leaves of them); ends with the best epoch's weights in place."""
        self._check_memory()
        if self._team is not None:
            check_agreement(self._team, self._signature())
        with library_threads(min(self.run.threads, get_threads())), self._drawing():
            return self._fit()

    @contextmanager
    def _drawing(self) -> Iterator[None]:
        """The module's dropout draws from the trainer's generator."""
        for dropout in self._dropouts:
            dropout.generator = self._generator
        try:
            yield
        finally:
            for dropout in self._dropouts:
                dropout.generator = None  # generators can't be copied

    def _fit(self) -> History:
        first = self._resume()
        total = self.plan.epochs * self.batches.n_points
        with self.run.progress.task(self.name, total) as task:
            task.advance(first * self.batches.n_points)
            for epoch in range(first, self.plan.epochs):
                if self.history.stopped:
                    break
                self._epoch(epoch, task)
                self._save(epoch)
        if self._best:
            self._restore_weights(self._best)
        self.run.curves[self.name] = self.history.curve()
        return self.history

    # -- one epoch, one step

    def _epoch(self, epoch: int, task: Task) -> None:
        start, loss_sum, seen = time.monotonic(), 0.0, 0
        if self.before_epoch is not None:
            self.before_epoch(epoch)
        if self.module is not None:
            self.module.train()
        stepping = time.monotonic()
        with self._away():
            for batch in self.batches.epoch(epoch, self._team):
                loss, n = self._step(batch.to(self._device)), len(batch.everything)
                loss_sum, seen = loss_sum + loss * n, seen + n
                speed = seen / max(1e-9, time.monotonic() - stepping)
                task.advance(n, epoch=epoch + 1, loss=loss_sum / seen, examples_s=speed, **self._shown())
                check_halted()
                if self._time_left() <= 0:
                    self.history.stopped = "time budget"
                    break
            for table in self._stepped().values():
                table.settle()
        facts = {"epoch": float(epoch), "loss": loss_sum / max(1, seen), "seconds": time.monotonic() - start}
        self.history.epochs.append(facts)
        if self.validate is not None:
            self._validate(epoch, facts)

    @contextmanager
    def _away(self) -> Iterator[None]:
        """Within the block, all trained weights are on the device, or at the workers. On the CPU of one process nothing
        moves."""
        if self._team is None and self._device.type == "cpu" and not kernels_are_off():
            yield
            return
        self._move_dense(self._device)
        for table in self._stepped().values():
            table.away(self._device)
        try:
            yield
        finally:
            self._move_dense(torch.device("cpu"))
        for table in self._stepped().values():
            table.home()

    def _stepped(self) -> Mapping[str, Table | ShardedTable]:
        """What steps are taken on."""
        return self._shards or self.tables

    def _move_dense(self, device: torch.device) -> None:
        if self.module is not None:
            self.module.to(device)
            self._dense = [p for p in self.module.parameters() if p.requires_grad]
            self._optimizer.to(device, self._dense)

    def _step(self, batch: Batch) -> float:
        lr = self.plan.lr * rate_at(self._progress(), self.plan.schedule, self.plan.warmup)
        self._generator.manual_seed(batch.generator.initial_seed())  # dropout depends on epoch and batch only
        tables = self._stepped()
        rows = {name: table.rows(batch.ids[name]) for name, table in tables.items()}
        with use_share(batch.share):
            value = self._backward(self.objective(batch, rows), batch)
        if not math.isfinite(value):
            raise ParameterError(f"{self.name}: the loss is {value} at step {self._steps}; lower lr (now {lr:g})")
        self._clip(rows)
        for name, table in tables.items():
            grad = rows[name].grad
            if grad is not None or self._team is not None:
                table.update(batch.ids[name], torch.zeros_like(rows[name]) if grad is None else grad, lr)
        self._optimizer.step(lr)
        self._steps += 1
        return value

    def _backward(self, loss: Tensor, batch: Batch) -> float:
        """The loss of the whole batch; the module's gradients are those of all workers."""
        if batch.share is None:
            loss.backward()  # type: ignore[no-untyped-call]
            return float(loss.detach())
        loss = loss * batch.share.weight
        loss.backward()  # type: ignore[no-untyped-call]
        return add_up_gradients(batch.share.team, self._dense, float(loss.detach()))

    def _clip(self, rows: Mapping[str, Tensor]) -> None:
        if self.plan.clip is not None:
            if self._team is not None:
                raise ParameterError(f"{self.name}: clip is of one process; train without workers")
            nn.utils.clip_grad_norm_([*rows.values(), *self._dense], self.plan.clip)

    def _progress(self) -> float:
        """Share of the training that is done, by steps or, where a time budget is nearer its end, by the clock."""
        done = self._steps / max(1, self.plan.epochs * len(self.batches))
        budget = self.run.time_budget
        if budget is not None:
            spent = 1.0 - max(0.0, self.run.time_left()) / budget if budget else 0.0
            done = max(done, agreed(self._team, spent))
        return done

    def _time_left(self) -> float:
        return self.run.time_left() if self.run.time_budget is None else agreed(self._team, self.run.time_left())

    def _leads(self) -> bool:
        """Whether it validates and writes checkpoints."""
        return self._team is None or self._team.rank == 0

    # -- validation

    def _validate(self, epoch: int, facts: dict[str, float]) -> None:
        assert self.validate is not None
        if self.module is not None:
            self.module.eval()
        with torch.no_grad():
            value = agreed(self._team, float(self.validate()) if self._leads() else 0.0)
        facts[self.plan.metric] = value
        better = value > self.history.best
        self.history.best = max(value, self.history.best)
        if better or (self.plan.tolerance and value >= self.history.best - self.plan.tolerance):
            self.history.best_epoch = epoch
            self._best = {name: tensor.clone() for name, tensor in self._weights().items()}
        elif self.plan.patience is not None and epoch - self.history.best_epoch >= self.plan.patience:
            self.history.stopped = self.history.stopped or "no better validation value"

    def _shown(self) -> dict[str, float]:
        last = self.history.epochs[-1] if self.history.epochs else {}
        return {self.plan.metric: last[self.plan.metric]} if self.plan.metric in last else {}

    def _weights(self) -> dict[str, Tensor]:
        found = {f"tables/{name}": table.weights for name, table in self.tables.items()}
        return found | ({} if self.module is None else prefixed("module", self.module.state_dict()))

    def _restore_weights(self, saved: Mapping[str, Tensor]) -> None:
        for name, tensor in self._weights().items():
            tensor.copy_(saved[name])

    # -- checkpoints and memory

    def _path(self) -> Path | None:
        return None if self.run.checkpoint is None else Path(self.run.checkpoint) / f"{self.name}.tensors"

    def _signature(self) -> dict[str, Any]:
        """What must be the same for a checkpoint to be resumed."""
        shapes = {name: list(tensor.shape) for name, tensor in self._weights().items()}
        own = {"seed": self.run.seed, "plan": vars(self.plan), "shapes": shapes, "points": self.batches.n_points}
        signature: dict[str, Any] = json.loads(json.dumps(own | dict(self.run.signature)))  # as a reader will see it
        return signature

    def _save(self, epoch: int) -> None:
        path = self._path()
        if path is None:
            return
        tensors = prefixed("best", self._best) | prefixed("dense", self._optimizer.state())
        if self.module is not None:
            tensors |= prefixed("module", self.module.state_dict())
        for kind, name, thing in self._kept_things():
            tensors |= prefixed(f"{kind}/{name}", thing.state())
        if not (self._keeps and self._leads()):
            return
        facts = {"epoch": epoch, "steps": self._steps, "history": vars(self.history), "signature": self._signature()}
        try:
            write_checkpoint(path, tensors, facts)
        except OSError as error:  # the training is worth more than what it could be resumed from
            self._keeps = False
            self.run.progress.message(f"no checkpoints from here on: {path} can't be written ({error.strerror})")

    def _kept_things(self) -> Iterator[tuple[str, str, Stateful]]:
        for kind, things in (("tables", self._stepped()), ("kept", self.kept)):
            for name, thing in things.items():
                yield kind, name, thing

    def _resume(self) -> int:
        """The epoch to start with."""
        path = self._path()
        if path is None or not self.run.resume or not path.exists():
            return 0
        tensors, facts = read_checkpoint(path)
        other = differences(self._signature(), facts.get("signature"))
        if other:
            raise ModelFileError(f"{path} belongs to a run with other {', '.join(other)}; start without resume")
        if self.module is not None:
            self.module.load_state_dict(under("module", tensors))
        self._optimizer.restore(under("dense", tensors))
        for kind, name, thing in self._kept_things():
            thing.restore(under(f"{kind}/{name}", tensors))
        self._best, self._steps = under("best", tensors), int(facts["steps"])
        self.history = History(**facts["history"])
        return int(facts["epoch"]) + 1

    def _check_memory(self) -> None:
        """What the first step and the first validation will still allocate; the tables are there already."""
        kept = sum(t.numel() * 4 for t in self._weights().values()) if self.validate is not None else 0
        dim = max((table.dim for table in self.tables.values()), default=0)
        sampler = self.batches.candidates
        width = sampler.width(self.batches.size) if sampler is not None else 0
        rows = min(self.batches.size * self.batches.mean_features, self.batches.X.shape[1]) + width
        step = 4 * (4 * rows * dim + 4 * self.batches.size * width)
        check_memory(int(kept + step), self.name, "lower dim, batch or the number of candidates")


def _dense_optimizer(plan: Plan, parameters: list[nn.Parameter]) -> DenseAdam | DenseSgd:
    if plan.optimizer not in ("adam", "sgd"):
        raise ParameterError(f"optimizer must be adam or sgd, got {plan.optimizer!r}")
    if plan.optimizer == "sgd":
        return DenseSgd(parameters, momentum=plan.momentum, decay=plan.decay)
    return DenseAdam(parameters)
