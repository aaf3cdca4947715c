"""A report per label: sorted rows, CSV, data frame, and where labels fail."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.errors import ParameterError
from zipfel.metrics import LabelReport
from zipfel.ranking import Ranking


@pytest.fixture
def report() -> LabelReport:
    labels = np.array([[0, 1], [0, -1], [2, 0], [1, 0]])
    given = Ranking(labels, np.where(labels >= 0, 0.5, -np.inf).astype(np.float32))
    truth = sp.csr_matrix(np.array([[1, 0, 0, 0, 0], [0, 0, 0, 0, 1], [0, 0, 1, 0, 1], [0, 1, 0, 0, 0]]))
    return LabelReport.of(given, truth, np.array([500, 50, 2, 0]), ["a", "b", "c", "never", "new"])


def test_rows(report: LabelReport) -> None:
    rows = {row["label"]: row for row in report.rows()}
    assert list(rows) == ["new", "a", "b", "c"]  # two documents first; the label that is nowhere is left out
    assert rows["a"] == {
        "label": "a",
        "bucket": "head",
        "train": 500,
        "support": 1,
        "given": 4,
        "hits": 1,
        "precision": 0.25,
        "recall": 1.0,
        "f1": 0.4,
        "missed": 0,
        "wrong": 3,
    }
    assert rows["new"]["train"] == 0
    assert [row["label"] for row in report.rows("f1", ascending=True)] == ["new", "a", "b", "c"]
    with pytest.raises(ParameterError, match="did you mean 'recall'"):
        report.rows("recal")


def test_as_csv_and_data_frame(report: LabelReport) -> None:
    read = list(csv.DictReader(io.StringIO(report.to_csv("label"))))
    assert [row["label"] for row in read] == ["new", "c", "b", "a"]
    assert float(read[-1]["precision"]) == 0.25
    pytest.importorskip("pandas")
    assert report.to_frame().shape == (4, 11)


def test_failures(report: LabelReport) -> None:
    assert report.most_missed() == [("new", 2, [1, 2])]
    assert report.most_wrong(1, documents=2) == [("a", 3, [1, 2])]
