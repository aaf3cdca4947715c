"""The training in the report: curves come from the epochs, phases are added up, damaged facts are refused."""

from __future__ import annotations

import pytest

from tests.report.test_page import data
from zipfel import Zipfel
from zipfel.errors import ModelFileError
from zipfel.report import model_report, training_figures
from zipfel.report.training import gains_chart, training_of

EPOCHS = [{"epoch": 1, "loss": 0.7, "P@1": 0.4}, {"epoch": 2, "loss": 0.5, "P@1": 0.6}]


def test_curves_have_loss_and_validation() -> None:
    (curve,) = training_of({"timings": {}, "curves": {"mnn": EPOCHS}}, []).curves
    assert (curve.loss, curve.metric) == ([(1.0, 0.7), (2.0, 0.5)], "P@1")
    assert curve.validation == [(1.0, 0.4), (2.0, 0.6)]


def test_phases_of_one_meaning_are_one_row() -> None:
    found = training_of({"timings": {"features": 1.0, "reading words": 2.0, "index": 5.0}}, []).seconds
    assert found == {"indexing documents": 5.0, "counting words": 3.0}


def test_gains_have_only_parts_that_were_tried() -> None:
    plan = [{"part": "tree", "gain": 0.01, "error": 0.002, "kept": False}, {"part": "forest", "gain": None}]
    chart = gains_chart(training_of({"timings": {}}, plan))
    assert "tree (dropped): 1.00" in chart
    assert "forest" not in chart


@pytest.mark.parametrize("curves", [[], {"mnn": 3}, {"mnn": [{"loss": "high"}]}, {"mnn": [{"loss": 0.5}]}])
def test_damaged_curves_are_refused(curves: object) -> None:
    with pytest.raises(ModelFileError, match="fit the model again"):
        training_of({"timings": {}, "curves": curves}, [])


def test_a_trained_network_keeps_its_epochs(tmp_path: object) -> None:
    model = Zipfel("glas", dim=8, epochs=3).fit(data())
    model.save(f"{tmp_path}/model")
    model = Zipfel.load(f"{tmp_path}/model")
    assert [one["epoch"] for one in model.training_["curves"]["glas"]] == [1, 2, 3]
    assert len(training_figures(model)) >= 2  # loss, seconds
    assert "glas: training loss" in model_report(model, data(), k=1)
