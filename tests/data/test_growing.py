from __future__ import annotations

import numpy as np

from zipfel.data.growing import Growing, GrowingCSR


def test_an_array_grows_reserves_and_is_cut() -> None:
    array = Growing(np.int32)
    array.reserve(10)
    for start in range(0, 100, 7):
        array.append(np.arange(start, start + 7))
    array.trim(100)
    assert len(array) == 100
    assert array.finish().tolist() == list(range(100))
    assert len(array) == 0


def test_a_matrix_grows_by_rows() -> None:
    matrix = GrowingCSR()
    matrix.append([2, 0], [1, 4], [0.5, 1.0])
    matrix.append([1], [0], [2.0])
    found = matrix.finish()
    assert found.toarray().tolist() == [[0, 0.5, 0, 0, 1], [0] * 5, [2, 0, 0, 0, 0]]
    assert found.dtype == np.float32
    assert found.has_canonical_format
    assert GrowingCSR().finish(3).shape == (0, 3)
