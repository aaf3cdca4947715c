"""Resumable state of a training: one file of tensors and JSON facts with a checksum, written beside and renamed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from zipfel.errors import ModelFileError
from zipfel.system.temporary import scratch_beside
from zipfel.system.tensors import read_summed, write_summed


def write_checkpoint(path: Path, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
    """Whoever reads `path` sees the old state or the new one, whole, whatever happens in between."""
    path.parent.mkdir(parents=True, exist_ok=True)
    arrays = {name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()}
    with scratch_beside(path) as fresh:
        write_summed(fresh, arrays, {"facts": json.dumps(facts)})
        fresh.replace(path)


def read_checkpoint(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    try:
        arrays, facts = read_summed(path)
        return {name: torch.from_numpy(array) for name, array in arrays.items()}, json.loads(facts["facts"])
    except (OSError, KeyError, ValueError, RecursionError) as error:
        raise ModelFileError(f"{path} is not a checkpoint that can be resumed: {error}; start without resume") from None


def differences(one: Mapping[str, Any], other: Any) -> list[str]:
    """Names under which two signatures differ."""
    if not isinstance(other, Mapping):
        return sorted(one)
    return sorted(name for name in {*one, *other} if one.get(name) != other.get(name))


def prefixed(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {f"{prefix}/{name}": tensor for name, tensor in tensors.items()}


def under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The counterpart of `prefixed`: what stands under the prefix, without it."""
    cut = len(prefix) + 1
    return {name[cut:]: tensor for name, tensor in tensors.items() if name.startswith(prefix + "/")}
