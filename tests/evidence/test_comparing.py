"""Rankings of held-out documents, compared with numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from zipfel.evidence.comparing import mean_and_error, precisions


def test_precision_is_the_mean_over_the_cuts() -> None:
    scores = np.array([[5.0, 4, 3, 2, 1, 0], [0, 1, 2, 3, 4, 5]])
    hits = np.array([[True, False, True, False, False, True]] * 2)
    first = (1 + 2 / 3 + 2 / 5) / 3  # the last hit is the sixth
    second = (1 + 1 / 3 + 2 / 5) / 3
    np.testing.assert_allclose(precisions(scores, hits), [first, second])


def test_of_equal_scores_the_first_candidate_is_first() -> None:
    assert precisions(np.zeros((1, 6)), np.array([[True, *[False] * 5]]))[0] == pytest.approx((1 + 1 / 3 + 1 / 5) / 3)


def test_the_error_is_that_of_runs_of_documents() -> None:
    assert mean_and_error(np.array([1.0, 3.0])) == (2.0, 1.0)
    assert mean_and_error(np.array([4.0])) == (4.0, 0.0)
    alike = np.repeat(np.arange(50.0), 4)  # copies of a document are one run, and make no error smaller
    assert mean_and_error(alike) == mean_and_error(np.arange(50.0))
