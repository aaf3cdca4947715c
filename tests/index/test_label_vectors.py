"""Labels as vectors with a bonus: hand-worked scores, unknown labels, and saving."""

from __future__ import annotations

import numpy as np
import pytest

from zipfel.errors import ModelFileError
from zipfel.index.label_vectors import LabelVectors

VECTORS = np.array([[1.0, 0.0], [0.0, 2.0]], dtype=np.float32)
CODES = np.array([[3.0, 1.0], [0.0, 0.0]], dtype=np.float32)


def _labels(precision: str = "float32") -> LabelVectors:
    return LabelVectors.of(VECTORS, np.array([0.0, 1.5], dtype=np.float32), np.array([2, 5]), precision)


def test_scores_are_inner_products_plus_the_bonus() -> None:
    # label 2: 3 * 1 + 0 = 3; label 5: 1 * 2 + 1.5 = 3.5
    found = _labels().search(CODES[:1], 2)
    assert found.labels.tolist() == [[5, 2]]
    np.testing.assert_allclose(found.scores, [[3.5, 3.0]])


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_saved_and_restored_it_scores_the_same(precision: str) -> None:
    one = _labels(precision)
    again = LabelVectors.restored(*one.state(), 2, 6, precision)
    np.testing.assert_array_equal(one.search(CODES, 2).scores, again.search(CODES, 2).scores)


def test_a_file_without_vectors_is_refused() -> None:
    with pytest.raises(ModelFileError, match="label vectors"):
        LabelVectors.restored({}, {}, 2, 6, "float32")
