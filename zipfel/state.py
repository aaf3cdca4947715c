"""What a fitted method or part keeps: arrays and small facts, checked when they are read back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.errors import ModelFileError

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class State:
    """All that a fitted method has to keep: arrays (safetensors) and small facts (JSON). No code."""

    arrays: Mapping[str, Array] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)

    def array(self, name: str, *, ndim: int | None = None, shape: tuple[int, ...] | None = None) -> Array:
        """The array of that name, its shape checked, and that it holds finite numbers."""
        if name not in self.arrays:
            raise ModelFileError(f"the model lacks the array {name!r}")
        found = self.arrays[name]
        if (ndim is not None and found.ndim != ndim) or (shape is not None and found.shape != shape):
            raise ModelFileError(f"the array {name!r} in the model has shape {found.shape}, not {shape or f'{ndim}-d'}")
        if found.dtype.kind == "f" and not np.isfinite(found).all():
            raise ModelFileError(f"the array {name!r} in the model holds NaN or inf")
        return found

    def part(self, name: str) -> dict[str, Array]:
        """The arrays of one part of the method, which `under` put together."""
        start = f"{name}."
        return {key.removeprefix(start): array for key, array in self.arrays.items() if key.startswith(start)}

    def fact(self, name: str, *, low: float, high: float = math.inf) -> float:
        """The number of that name, checked to be finite and within the limits."""
        value = self.facts.get(name)
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not low <= value <= high
            or value == math.inf
        ):
            raise ModelFileError(f"the model's {name} must be a number from {low} to {high}, got {value!r:.60}")
        return value


def under(name: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """The arrays of one part, for a state that has several; `State.part` reads them back."""
    return {f"{name}.{key}": array for key, array in arrays.items()}


def pack_csr(name: str, matrix: sp.csr_matrix) -> dict[str, Array]:
    """A CSR matrix as arrays for `State`; `unpack_csr` reads them back."""
    return {f"{name}.indptr": matrix.indptr, f"{name}.indices": matrix.indices, f"{name}.data": matrix.data}


def unpack_csr(state: State, name: str, shape: tuple[int, int]) -> sp.csr_matrix:
    """The matrix that `pack_csr` packed, every index checked: a model file may come from anywhere."""
    indptr, indices, data = (state.array(f"{name}.{part}", ndim=1) for part in ("indptr", "indices", "data"))
    sound = (
        indptr.dtype.kind == indices.dtype.kind == "i"  # differences of unsigned ones are never negative
        and data.dtype.kind == "f"
        and len(indptr) == shape[0] + 1
        and len(indices) == len(data)
        and indptr[0] == 0
        and indptr[-1] == len(indices)
        and bool((indptr[1:] >= indptr[:-1]).all())  # differences could wrap around
        and (len(indices) == 0 or (indices.min() >= 0 and indices.max() < shape[1]))
    )
    if not sound:
        raise ModelFileError(f"the matrix {name!r} in the model is damaged: its indices do not fit its shape {shape}")
    return sp.csr_matrix((data, indices, indptr), shape=shape)
