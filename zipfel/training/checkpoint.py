"""Resumable state of a training: one file of tensors and JSON facts, written beside and renamed."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from zipfel.errors import ModelFileError


def write_checkpoint(path: Path, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
    """Whoever reads `path` sees the old state or the new one, whole, whatever happens in between."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".new")
    save_file({k: v.detach().cpu().contiguous() for k, v in tensors.items()}, beside, {"facts": json.dumps(facts)})
    with beside.open("rb") as file:
        os.fsync(file.fileno())
    beside.replace(path)


def read_checkpoint(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    try:
        with safe_open(path, framework="pt") as file:
            facts = json.loads((file.metadata() or {})["facts"])
            return {key: file.get_tensor(key) for key in file.keys()}, facts  # noqa: SIM118 - not a dict
    except (SafetensorError, OSError, KeyError, ValueError) as error:
        raise ModelFileError(f"{path} is not a checkpoint that can be resumed: {error}; start without resume") from None


def prefixed(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {f"{prefix}/{name}": tensor for name, tensor in tensors.items()}


def under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The counterpart of `prefixed`: what stands under the prefix, without it."""
    cut = len(prefix) + 1
    return {name[cut:]: tensor for name, tensor in tensors.items() if name.startswith(prefix + "/")}
