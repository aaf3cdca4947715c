"""Layers with their own random generator. All threads share torch's generator, so networks that train in parallel would
change each other's random numbers."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from zipfel.nn.shares import batch_rows, own


def linear(n_in: int, n_out: int, generator: torch.Generator, *, bias: bool = True) -> nn.Linear:
    """`nn.Linear` whose first weights, of the same spread, come from the generator."""
    layer = nn.Linear(n_in, n_out, bias=bias, device="meta").to_empty(device="cpu")  # draws nothing
    nn.init.kaiming_uniform_(layer.weight, a=math.sqrt(5), generator=generator)
    if bias:
        nn.init.uniform_(layer.bias, -(n_in**-0.5), n_in**-0.5, generator=generator)
    return layer


class Dropout(nn.Module):
    """`nn.Dropout` that draws from `generator`, which the trainer sets and seeds by epoch and batch.

    The draws are made on the CPU and moved, so that they are the same on every device. Several workers draw for the
    whole batch, so that a row loses the same numbers whoever has it.
    """

    generator: torch.Generator | None = None

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, inputs: Tensor) -> Tensor:
        if not self.training or self.share == 0:
            return inputs
        whole = torch.empty((batch_rows(inputs), *inputs.shape[1:]), dtype=inputs.dtype)  # of all workers
        kept = own(whole.bernoulli_(1 - self.share, generator=self.generator))
        return inputs * kept.to(inputs.device).div_(1 - self.share)
