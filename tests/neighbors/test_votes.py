"""Places that no vote has filled."""

from __future__ import annotations

import numpy as np

from zipfel.neighbors.votes import fill_up


def test_free_places_go_to_others_that_are_not_there_yet() -> None:
    labels = np.array([[5, 2, -1, -1], [7, 9, 2, 1], [-1, -1, -1, -1], [3, 4, 2, -1]])
    fill_up(labels, np.array([2, 3, 8]))
    np.testing.assert_array_equal(labels, [[5, 2, 3, 8], [7, 9, 2, 1], [-1, -1, -1, -1], [3, 4, 2, 8]])
    labels = np.array([[5, -1]])
    fill_up(labels, np.array([], dtype=np.int64))
    np.testing.assert_array_equal(labels, [[5, -1]])
