"""Rounded tables: bounded loss, nothing more is lost the second time, damage is refused."""

from __future__ import annotations

import numpy as np
import pytest

from zipfel.errors import ModelFileError
from zipfel.quantize import PRECISIONS, pack_table, rounded, unpack_table


@pytest.mark.parametrize(("precision", "allowed"), [("float32", 0.0), ("float16", 1e-3), ("int8", 1 / 127)])
def test_loss_is_bounded_and_only_once(precision: str, allowed: float) -> None:
    table = np.random.default_rng(0).standard_normal((30, 8)).astype(np.float32) * 5
    table[3] = 0
    once = rounded(table, precision)
    largest = np.abs(table).max(axis=1, keepdims=True)
    assert np.all(np.abs(once - table) <= allowed * largest)
    assert np.array_equal(rounded(once, precision), once)
    assert pack_table("t", table, precision)["t"].dtype == precision


@pytest.mark.parametrize("precision", PRECISIONS)
def test_damage_is_refused(precision: str) -> None:
    arrays = pack_table("t", np.ones((4, 2), dtype=np.float32), precision)
    with pytest.raises(ModelFileError, match="shape"):
        unpack_table("t", arrays, 5, 2)
    if precision == "int8":
        with pytest.raises(ModelFileError, match="scales"):
            unpack_table("t", {"t": arrays["t"]}, 4, 2)
        with pytest.raises(ModelFileError, match="no numbers"):
            unpack_table("t", {"t": arrays["t"], "t.scale": np.full(4, np.nan, np.float32)}, 4, 2)
