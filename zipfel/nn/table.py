"""`Table`: a big array of rows whose gradients and optimiser state exist only on the rows a batch touches."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from zipfel.errors import ParameterError
from zipfel.kernels.choice import runs_kernels
from zipfel.kernels.rows import adagrad_rows, adam_rows, coast_rows, coasting, sgd_rows
from zipfel.system.memory import check_memory
from zipfel.system.threads import over_blocks

_PARALLEL_ROWS = 256
"""Below so many touched rows a second thread costs more than it saves."""


class Table:
    """(n_rows, dim) float32 weights with row-wise Adam, Adagrad or SGD with momentum.

    The weights never require a gradient. A step gathers `local = table.rows(ids)`, a leaf of its own, runs the
    objective on it, and hands `local.grad` back to `update`, which changes weights and moments of those rows only.
    Where every row is touched in every step this equals torch's dense optimiser. Rows that a batch does not touch keep
    their moments. The bias correction counts the row's own steps. With the global count, the first step of a rare row
    would be about three times too large, (1 - beta1) / sqrt(1 - beta2).

    SGD equals the dense optimiser on untouched rows, too. Momentum and decay are a linear map; its power is applied
    when the row is next gathered, and by `settle` at the end of an epoch (exact at a constant rate).

    rate: this table's learning rate as a multiple of the trainer's. decay: weight decay, decoupled for Adam (AdamW) and
    Adagrad, which apply it to touched rows only. momentum: of SGD. On other devices than the CPU the same arithmetic
    runs as plain torch; `away` and `home` bring the table there and back.
    """

    def __init__(
        self,
        weights: Tensor | npt.NDArray[np.float32],
        *,
        optimizer: str = "adam",
        rate: float = 1.0,
        decay: float = 0.0,
        momentum: float = 0.9,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
    ) -> None:
        if optimizer not in ("adam", "adagrad", "sgd"):
            raise ParameterError(f"optimizer must be adam, adagrad or sgd, got {optimizer!r}")
        weights = torch.from_numpy(weights) if isinstance(weights, np.ndarray) else weights
        self.weights = weights.detach().to(torch.float32).contiguous()
        self.optimizer, self.rate, self.decay, self.betas, self.eps = optimizer, rate, decay, betas, eps
        self.momentum, self._lr = momentum, 0.0
        self.first: Tensor | None = None
        self.second: Tensor | None = None
        self.steps: Tensor | None = None
        self.clock: Tensor | None = None
        self._home: dict[str, Tensor] = {}
        if optimizer != "adagrad":
            self.first = torch.zeros_like(self.weights)
            self.steps = torch.zeros(len(self), dtype=torch.int32, device=self.weights.device)
        if optimizer == "sgd":
            self.clock = torch.zeros(1, dtype=torch.int64)  # steps of the table; `steps` are those a row has seen
        else:
            self.second = torch.zeros_like(self.weights)

    @classmethod
    def normal(cls, n_rows: int, dim: int, scale: float, rng: np.random.Generator, **settings: Any) -> Table:
        """Weights drawn from N(0, scale^2)."""
        _check_room(n_rows, dim)
        weights = rng.standard_normal((n_rows, dim), dtype=np.float32)
        weights *= np.float32(scale)
        return cls(weights, **settings)

    @classmethod
    def zeros(cls, n_rows: int, dim: int, **settings: Any) -> Table:
        _check_room(n_rows, dim)
        return cls(torch.zeros(n_rows, dim), **settings)

    def alike(self, weights: Tensor) -> Table:
        """A new table with this one's settings."""
        return Table(
            weights, optimizer=self.optimizer, rate=self.rate, decay=self.decay, momentum=self.momentum,
            betas=self.betas, eps=self.eps,
        )  # fmt: skip

    def __len__(self) -> int:
        return int(self.weights.shape[0])

    @property
    def dim(self) -> int:
        return int(self.weights.shape[1])

    @property
    def device(self) -> torch.device:
        return self.weights.device

    def numpy(self) -> npt.NDArray[np.float32]:
        """The weights as an array; on the CPU a view, not a copy."""
        array: npt.NDArray[np.float32] = self.weights.cpu().numpy()
        return array

    def rows(self, ids: Tensor) -> Tensor:
        """(u, dim) copy of the rows `ids`, a leaf that collects the batch's gradient."""
        self._coast(ids)
        return self.weights.index_select(0, ids.to(self.device)).requires_grad_()

    def update(self, ids: Tensor, grad: Tensor, lr: float) -> None:
        """One optimiser step on the rows `ids`, which must be distinct, with their (u, dim) gradient."""
        if self.optimizer == "sgd":
            self._update_sgd(ids, grad, lr * self.rate)
            return
        numbers = (lr * self.rate, *self.betas, self.eps, self.decay)
        if not runs_kernels(self.weights):
            plain = _adam_plain if self.optimizer == "adam" else _adagrad_plain
            plain(self, ids.to(self.device), grad, numbers)
            return
        assert self.second is not None
        rows, gradient, settings = ids.numpy(), grad.contiguous().numpy(), np.array(numbers)
        weights, second = self.weights.numpy(), self.second.numpy()
        parts = None if len(rows) >= _PARALLEL_ROWS else 1
        if self.first is not None and self.steps is not None:
            first, steps = self.first.numpy(), self.steps.numpy()
            over_blocks(
                lambda a, b: adam_rows(rows, gradient, weights, first, second, steps, settings, a, b),
                len(rows),
                parts=parts,
            )
        else:
            over_blocks(
                lambda a, b: adagrad_rows(rows, gradient, weights, second, settings, a, b), len(rows), parts=parts
            )

    def _update_sgd(self, ids: Tensor, grad: Tensor, lr: float) -> None:
        assert self.first is not None
        assert self.steps is not None
        assert self.clock is not None
        self.clock += 1
        self._lr, now = lr, int(self.clock)
        if not runs_kernels(self.weights):
            _sgd_plain(self, ids.to(self.device), grad, lr)
            return
        rows, gradient, settings = ids.numpy(), grad.contiguous().numpy(), np.array([lr, self.momentum, self.decay])
        weights, velocity, steps = self.weights.numpy(), self.first.numpy(), self.steps.numpy()
        parts = None if len(rows) >= _PARALLEL_ROWS else 1
        over_blocks(
            lambda a, b: sgd_rows(rows, gradient, weights, velocity, steps, settings, now, a, b), len(rows), parts=parts
        )

    def _coast(self, ids: Tensor) -> None:
        """SGD's steps without a gradient that the rows have missed."""
        if self.optimizer != "sgd" or not self._lr:
            return
        assert self.first is not None
        assert self.steps is not None
        assert self.clock is not None
        now, settings = int(self.clock), np.array([self._lr, self.momentum, self.decay])
        if not runs_kernels(self.weights):
            _coast_plain(self, ids.to(self.device), now)
            return
        rows = ids.numpy()
        weights, velocity, steps = self.weights.numpy(), self.first.numpy(), self.steps.numpy()
        parts = None if len(rows) >= _PARALLEL_ROWS else 1
        over_blocks(
            lambda a, b: coast_rows(rows, weights, velocity, steps, settings, now, a, b), len(rows), parts=parts
        )

    def settle(self) -> None:
        """Brings rows that rested up to date; only SGD lets them wait."""
        if self.optimizer == "sgd":
            self._coast(torch.arange(len(self)))

    def away(self, device: torch.device) -> None:
        """Weights and state go to a device; what is on the CPU waits there for `home`."""
        self._home = self.state()
        for name, tensor in self._home.items():
            setattr(self, name, tensor.to(device, copy=True))

    def home(self) -> None:
        """Back to the CPU, into the same memory, so that views of the weights show what was learnt."""
        for name, tensor in self._home.items():
            tensor.copy_(getattr(self, name))
            setattr(self, name, tensor)
        self._home = {}

    def state(self) -> dict[str, Tensor]:
        """Weights and optimiser state, for checkpoints; no copies."""
        found = {"weights": self.weights, "first": self.first, "second": self.second, "steps": self.steps}
        found["clock"] = self.clock
        return {name: tensor for name, tensor in found.items() if tensor is not None}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        for name, tensor in self.state().items():
            tensor.copy_(state[name])

    def nbytes(self) -> int:
        return sum(t.numel() * t.element_size() for t in self.state().values())


def _adam_plain(table: Table, ids: Tensor, grad: Tensor, numbers: tuple[float, ...]) -> None:
    """`adam_rows` in torch: the path on other devices, and what the kernel must equal."""
    lr, beta1, beta2, eps, decay = numbers
    assert table.first is not None
    assert table.second is not None
    assert table.steps is not None
    table.steps[ids] += 1
    steps = table.steps[ids].float()[:, None]
    first = beta1 * table.first[ids] + (1 - beta1) * grad
    second = beta2 * table.second[ids] + (1 - beta2) * grad * grad
    table.first[ids], table.second[ids] = first, second
    rate = lr / -torch.expm1(steps * math.log(beta1))  # 1 - beta^t, exact in single precision too
    spread = second.sqrt() / (-torch.expm1(steps * math.log(beta2))).sqrt() + eps
    table.weights[ids] = (1 - lr * decay) * table.weights[ids] - rate * first / spread


def _adagrad_plain(table: Table, ids: Tensor, grad: Tensor, numbers: tuple[float, ...]) -> None:
    """`adagrad_rows` in torch."""
    lr, _, _, eps, decay = numbers
    assert table.second is not None
    total = table.second[ids] + grad * grad
    table.second[ids] = total
    table.weights[ids] = (1 - lr * decay) * table.weights[ids] - lr * grad / (total.sqrt() + eps)


def _sgd_plain(table: Table, ids: Tensor, grad: Tensor, lr: float) -> None:
    """`sgd_rows` in torch."""
    assert table.first is not None
    assert table.steps is not None
    assert table.clock is not None
    velocity = table.momentum * table.first[ids] + grad + table.decay * table.weights[ids]
    table.first[ids] = velocity
    table.weights[ids] -= lr * velocity
    table.steps[ids] = int(table.clock)


def _coast_plain(table: Table, ids: Tensor, now: int) -> None:
    """`coast_rows` in torch: all rows that missed as many steps at once."""
    assert table.first is not None
    assert table.steps is not None
    missed = now - table.steps[ids].long()
    for count in set(missed.tolist()):
        rows = ids[missed == count]
        ww, wv, vw, vv = coasting(table._lr, table.momentum, table.decay, count)
        weights, velocity = table.weights[rows], table.first[rows]
        table.weights[rows] = ww * weights + wv * velocity
        table.first[rows] = vw * weights + vv * velocity
    table.steps[ids] = now


def _check_room(n_rows: int, dim: int) -> None:
    """For the weights and two moments of each."""
    check_memory(3 * 4 * n_rows * dim, f"a table of {n_rows:,} rows and {dim:,} numbers each", "lower dim")
