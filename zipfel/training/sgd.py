"""SGD with momentum and weight decay for the small dense parts; `nn.table` has the same for tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor


class DenseSgd:
    """v = momentum v + gradient + decay w, then w = w - lr v, as torch.optim.SGD; equality is tested.

    Vectors (biases) have no decay, as in MXNet.
    """

    def __init__(self, parameters: Sequence[Tensor], *, momentum: float = 0.9, decay: float = 0.0) -> None:
        self.parameters, self.momentum, self.decay = list(parameters), momentum, decay
        self.velocity = [torch.zeros_like(p) for p in self.parameters]

    @torch.no_grad()
    def step(self, lr: float) -> None:
        """One step along the gradients, which are then dropped; a parameter without one stays as it is."""
        for parameter, velocity in zip(self.parameters, self.velocity, strict=True):
            grad = parameter.grad
            if grad is None:
                continue
            if self.decay and parameter.dim() > 1:
                grad = grad.add(parameter, alpha=self.decay)
            velocity.mul_(self.momentum).add_(grad)
            parameter.sub_(velocity, alpha=lr)
            parameter.grad = None

    def to(self, device: torch.device, parameters: Sequence[Tensor]) -> None:
        """Moves the velocities to the device where the parameters now are."""
        self.parameters = list(parameters)
        self.velocity = [velocity.to(device) for velocity in self.velocity]

    def state(self) -> dict[str, Tensor]:
        return {f"{i}.velocity": velocity for i, velocity in enumerate(self.velocity)}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        for i, velocity in enumerate(self.velocity):
            velocity.copy_(state[f"{i}.velocity"])
