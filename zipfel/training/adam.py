"""Adam for the small dense parts. Torch's own brings its compiler along, whose import takes seconds at every start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor


class DenseAdam:
    """Kingma and Ba 2015, as torch.optim.Adam with its defaults (betas 0.9 and 0.999, eps 1e-8); equality is tested.

    The moments exist from the start, so the state has the same tensors before and after the first step.
    """

    def __init__(
        self, parameters: Sequence[Tensor], *, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8
    ) -> None:
        self.parameters, self.betas, self.eps, self.steps = list(parameters), betas, eps, 0
        self.first, self.second = ([torch.zeros_like(p) for p in self.parameters] for _ in range(2))

    @torch.no_grad()
    def step(self, lr: float) -> None:
        """One step along the gradients, which are then dropped; a parameter without one stays as it is."""
        self.steps += 1
        beta1, beta2 = self.betas
        correction = (1 - beta2**self.steps) ** 0.5
        for parameter, first, second in zip(self.parameters, self.first, self.second, strict=True):
            grad = parameter.grad
            if grad is None:
                continue
            first.lerp_(grad, 1 - beta1)
            second.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
            spread = (second.sqrt() / correction).add_(self.eps)
            parameter.addcdiv_(first, spread, value=-lr / (1 - beta1**self.steps))
            parameter.grad = None

    def to(self, device: torch.device, parameters: Sequence[Tensor]) -> None:
        """Moves the moments to the device where the parameters now are."""
        self.parameters = list(parameters)
        self.first, self.second = ([moment.to(device) for moment in kind] for kind in (self.first, self.second))

    def state(self) -> dict[str, Tensor]:
        found = {"steps": torch.tensor(self.steps)}
        for i, (first, second) in enumerate(zip(self.first, self.second, strict=True)):
            found |= {f"{i}.first": first, f"{i}.second": second}
        return found

    def restore(self, state: Mapping[str, Tensor]) -> None:
        self.steps = int(state["steps"])
        for i, (first, second) in enumerate(zip(self.first, self.second, strict=True)):
            first.copy_(state[f"{i}.first"])
            second.copy_(state[f"{i}.second"])
