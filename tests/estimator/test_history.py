"""What a model remembers of what it has learned from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from zipfel import Dataset, Zipfel
from zipfel.data import label_matrix
from zipfel.errors import ModelFileError
from zipfel.estimator.history import checked_ids, event, hashes_of, remembered

TEXTS = ["red bike", "blue boat", "red boat", "bike chain"]
NAMES = ["bike", "boat", "oil"]


def data(ids: list[str] | None, texts: list[str], labels: list[int], name: str = "more") -> Dataset:
    Y = label_matrix(np.arange(len(texts)), np.array(labels), (len(texts), len(NAMES)))
    return Dataset(Y=Y, texts=texts, label_names=NAMES, ids=ids, name=name)


@pytest.fixture
def model() -> Zipfel:
    return Zipfel("knn").fit(data(["a", "b", "c"], TEXTS[:3], [0, 1, 1], "train"))


def test_documents_with_known_ids_count_once(model: Zipfel) -> None:
    model.partial_fit(data(["c", "d", "d"], ["red boat", "bike chain", "another"], [1, 2, 2]))
    assert model.training_["n_points"] == 4
    model.partial_fit(data(["c", "d"], ["red boat", "bike chain"], [1, 2]))
    assert model.training_["n_points"] == 4
    assert model.label_counts_.tolist() == [1, 2, 1]
    told = [(e["what"], e.get("documents", 0), e.get("left_out", 0)) for e in model.training_["history"]]
    assert told == [("fit", 3, 0), ("update", 1, 4)]  # of one day and one file, so one event


def test_the_ids_are_kept_in_the_model_folder(model: Zipfel, tmp_path: Path) -> None:
    model.save(tmp_path / "m")
    loaded = Zipfel.load(tmp_path / "m").partial_fit(data(["a", "x"], ["red bike", "oil can"], [0, 2]))
    assert loaded.training_["n_points"] == 4
    assert [e["what"] for e in loaded.training_["history"]] == ["fit", "update"]


def test_data_without_ids_count_once_as_a_whole(model: Zipfel) -> None:
    more = data(None, ["bike chain", "oil can"], [0, 2])
    model.partial_fit(more).partial_fit(more)
    assert model.training_["n_points"] == 5
    model.partial_fit(data(None, ["bike chain"], [0]))
    assert model.training_["n_points"] == 6


def test_lists_always_count(model: Zipfel) -> None:
    model.partial_fit(["bike chain"], [["bike"]]).partial_fit(["bike chain"], [["bike"]])
    assert model.training_["n_points"] == 5
    assert model.training_["history"][-1]["documents"] == 2


def test_histories_do_not_grow_without_end() -> None:
    training: dict[str, object] = {}
    for i in range(1100):
        training = remembered(training, event("update", f"file {i}", documents=1))
    assert len(training["history"]) == 1000  # type: ignore[arg-type]


def test_hashes_are_the_same_in_every_process() -> None:
    assert hashes_of(["a"]).tolist() == [int.from_bytes(bytes.fromhex("40f89e395b66422f"), "little")]


def test_wrong_ids_of_a_model_folder_are_refused() -> None:
    with pytest.raises(ModelFileError):
        checked_ids(np.zeros((2, 2), dtype=np.uint64))
    with pytest.raises(ModelFileError):
        checked_ids(np.zeros(2, dtype=np.float32))
