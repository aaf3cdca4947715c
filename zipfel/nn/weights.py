"""A module's weights as arrays of a saved model, and back."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt
import torch
from torch import nn

from zipfel.state import State


def weights(module: nn.Module) -> dict[str, npt.NDArray[Any]]:
    """Parameters and buffers by name; they share the module's memory."""
    return {name: tensor.numpy() for name, tensor in module.state_dict().items()}


def read_weights(module: nn.Module, state: State, under: str = "") -> None:
    """The counterpart of `weights`, from the arrays under that name.

    Raises ModelFileError where an array is missing or has another shape.
    """
    for name, tensor in module.state_dict().items():
        found = state.array(f"{under}.{name}" if under else name, shape=tuple(tensor.shape))
        tensor.copy_(torch.tensor(found))
