"""ECE, Brier and reliability by hand."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.metrics import calibration_errors, reliability
from zipfel.ranking import Ranking


def test_by_hand() -> None:
    ranking = Ranking(np.array([[0, 1], [1, -1]]), np.array([[0.9, 0.2], [0.9, -np.inf]], dtype=np.float32))
    truth = sp.csr_matrix(np.array([[1, 0], [0, 0]]))
    found = calibration_errors(ranking, truth, ks=(1, 2))
    assert found["ECE@1"] == pytest.approx(abs(1.8 - 1) / 2)
    assert found["Brier@1"] == pytest.approx((0.01 + 0.81) / 2)
    assert found["ECE@2"] == pytest.approx((0.8 + 0.2) / 3)
    assert found["Brier@2"] == pytest.approx((0.01 + 0.81 + 0.04) / 3)


def test_raw_scores_have_no_calibration_error() -> None:
    ranking = Ranking(np.array([[0]]), np.array([[2.5]], dtype=np.float32))
    assert calibration_errors(ranking, sp.csr_matrix((1, 1))) == {}


def test_bins_of_equal_width() -> None:
    found = reliability(np.array([0.0, 0.05, 0.5, 1.0]), np.array([0, 0, 1, 1]))
    assert found.size == [2, 1, 1]
    assert found.share == [0, 1, 1]
    assert found.probability == pytest.approx([0.025, 0.5, 1.0])
