"""A stopped training is resumed only with what it had begun with: data, labels, method, parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.contract import QUICK
from zipfel import Zipfel
from zipfel.data import Dataset, label_matrix
from zipfel.errors import ModelFileError
from zipfel.run import Run

TEXTS = [f"{word} {i % 7} and more" for i in range(60) for word in ("bike", "boat")]
NAMES = ["bike", "boat"]


def data(names: list[str] = NAMES, texts: list[str] = TEXTS, swap: int = 0) -> Dataset:
    columns = np.array([(i + (i < swap)) % 2 for i in range(len(texts))])
    return Dataset(Y=label_matrix(np.arange(len(texts)), columns, (len(texts), 2)), texts=texts, label_names=names)


def fit(folder: Path, train: Dataset, *, resume: bool, method: str = "rankae", **params: Any) -> Zipfel:
    run = Run(seed=1, threads=1, checkpoint=folder, resume=resume)
    return Zipfel(method, seed=1, threads=1, **{**QUICK[method], **params}).fit(train, run=run)


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoint")
    fit(folder, data(), resume=False)
    assert list(folder.iterdir())
    return folder


def test_the_same_goes_on(begun: Path) -> None:
    again, fresh = fit(begun, data(), resume=True), fit(begun.parent / "other", data(), resume=False)
    np.testing.assert_array_equal(again.predict(TEXTS[:4], k=2).scores, fresh.predict(TEXTS[:4], k=2).scores)


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"train": data(names=["boat", "bike"])}, "label names"),
        ({"train": data(swap=2)}, "training data"),
        ({"train": data(texts=[TEXTS[0] + "!", *TEXTS[1:]])}, "training data"),
        ({"margin": 0.7}, "parameters"),
    ],
)
def test_another_is_refused(begun: Path, changed: dict[str, Any], named: str) -> None:
    with pytest.raises(ModelFileError, match=f"other .*{named}"):
        fit(begun, **{"train": data(), **changed}, resume=True)
