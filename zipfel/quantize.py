"""Tables in fewer bytes: float16, or int8 with a scale for each row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfel.errors import ModelFileError

PRECISIONS = ("float32", "float16", "int8")
Table = npt.NDArray[np.float32]
_BLOCK = 8192
"""Rows that are rounded at a time."""


def pack_table(name: str, table: Table, precision: str) -> dict[str, npt.NDArray[Any]]:
    """(n, d) weights as arrays for a model file; packing what `unpack_table` gave loses nothing more."""
    if precision == "int8":
        codes, scale = np.empty(table.shape, dtype=np.int8), np.empty(len(table), dtype=np.float32)
        for a in range(0, len(table), _BLOCK):  # all at once it would be there four times
            rows = table[a : a + _BLOCK]
            largest = np.abs(rows).max(axis=1, initial=0.0)
            scale[a : a + _BLOCK] = np.where(largest > 0, largest / np.float32(127), np.float32(1))
            steps = np.rint(rows / scale[a : a + _BLOCK, None])
            codes[a : a + _BLOCK] = np.clip(steps, -127, 127, out=steps)
        return {name: codes, f"{name}.scale": scale}
    return {name: table.astype(precision)}


def unpack_table(name: str, arrays: Mapping[str, npt.NDArray[Any]], n_rows: int, dim: int) -> Table:
    """The counterpart of `pack_table`, whichever precision it was; shapes are checked."""
    packed, scale = arrays.get(name), arrays.get(f"{name}.scale")
    if packed is None or packed.shape != (n_rows, dim) or packed.dtype.kind not in "fi":
        raise ModelFileError(f"the model has no table {name!r} of shape {(n_rows, dim)}")
    table: Table = np.ascontiguousarray(packed, dtype=np.float32)
    if packed.dtype == np.int8:
        if scale is None or scale.shape != (n_rows,):
            raise ModelFileError(f"the model has no scales for its table {name!r}")
        table *= scale.astype(np.float32)[:, None]
    if not np.isfinite(table).all():
        raise ModelFileError(f"the table {name!r} in the model holds values that are no numbers")
    return table


def rounded(table: Table, precision: str) -> Table:
    """What is left of the table after saving and loading it."""
    return unpack_table("t", pack_table("t", table, precision), *table.shape)
