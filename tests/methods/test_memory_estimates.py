"""How much memory a fit takes is estimated before it begins; the peaks that it is held to were measured."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.methods import Points, make_method

SIZES = {"bibtex": (4880, 1836, 159, 334250, 11616), "debian-tags": (18621, 20699, 577, 801858, 82122)}
SIZES["debian-deps"] = (33241, 30627, 20476, 1348539, 205732)
PEAKS = {
    ("bibtex", "knn", None): 25e6, ("debian-tags", "knn", None): 49e6, ("debian-deps", "knn", None): 69e6,
    ("bibtex", "auto", "quick"): 51e6, ("debian-tags", "auto", "quick"): 149e6, ("debian-deps", "auto", "quick"): 444e6,
    ("bibtex", "auto", None): 108e6, ("debian-tags", "auto", None): 420e6, ("debian-deps", "auto", None): 1361e6,
}  # fmt: skip
"""Bytes, of two threads."""


def of_size(n: int, n_features: int, n_labels: int, words: int, labels: int) -> Points:
    """Points with so many entries, spread evenly."""

    def matrix(width: int, entries: int) -> sp.csr_matrix:
        lengths = np.full(n, entries // n)
        lengths[: entries - lengths.sum()] += 1
        columns = np.arange(entries) % width
        return sp.csr_matrix((np.ones(entries, np.float32), columns, np.r_[0, np.cumsum(lengths)]), (n, width))

    return Points(matrix(n_features, words), matrix(n_labels, labels))


@pytest.mark.parametrize(("data", "method", "preset"), PEAKS)
def test_estimates_are_near_the_measured_peaks(data: str, method: str, preset: str | None) -> None:
    estimate = make_method(method, preset=preset).bytes_needed(of_size(*SIZES[data]))
    assert 0.75 < estimate / PEAKS[data, method, preset] < 1.25
