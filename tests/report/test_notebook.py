"""Figures for notebooks: they hold what the model says, and can be saved."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from zipfel import Zipfel
from zipfel.report import frequency_figure, recall_figure, reliability_figure

TEXTS, LABELS = ["a red bike", "a blue boat"] * 20, [["bike"], ["boat"]] * 20


@pytest.fixture(scope="module")
def model() -> Zipfel:
    return Zipfel("knn", n_neighbors=3).fit(TEXTS, LABELS)


def test_recall_stands_in_the_figure(model: Zipfel) -> None:
    assert "torso, R@1: 100.0%" in recall_figure(model, TEXTS, LABELS, k=1).svg


def test_reliability_counts_every_label(model: Zipfel) -> None:
    assert "40 labels" in reliability_figure(model, TEXTS, LABELS, k=1).svg


def test_figures_are_files_of_their_own(model: Zipfel, tmp_path: Path) -> None:
    frequency_figure(model).save(tmp_path / "f.svg")
    assert ET.parse(tmp_path / "f.svg").getroot().tag.endswith("svg")
    assert frequency_figure(model)._repr_svg_() == (tmp_path / "f.svg").read_text(encoding="utf-8")
