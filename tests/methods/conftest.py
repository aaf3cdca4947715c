"""Real data for methods: rows weighted as the estimator would."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from zipfel.data import read
from zipfel.features import Weighting
from zipfel.methods import Points

Loader = Callable[[str, str], tuple[Points, Points]]


@pytest.fixture(scope="session")
def real(shared_data: Path) -> Loader:
    """real("bibtex", "tfidf"): (train, test) of a shared data set."""

    def load(name: str, weighting: str) -> tuple[Points, Points]:
        train, test = (read(shared_data / name / f"{part}.txt") for part in ("train", "test"))
        weigh = Weighting(weighting).fit(train.X)
        return Points(weigh.transform(train.X), train.Y), Points(weigh.transform(test.X), test.Y)

    return load
