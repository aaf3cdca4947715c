"""A model with a vocabulary: labels named in any way, kept in the model, told with every answer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from zipfel.classifier import Zipfel
from zipfel.data import Concept, Dataset, Vocabulary
from zipfel.errors import DataError, ModelFileError, ParameterError
from zipfel.estimator.inputs import as_dataset
from zipfel.estimator.vocabularies import check_language, names_by_document
from zipfel.persistence import load_model, save_model

TEXTS = ["a red bike with two wheels", "my bike needs oil", "a wooden boat", "boats on the sea"]
LABELS = [["x:bike"], ["x:bike", "x:oil"], ["<x:boat>"], ["boat"]]


def concepts() -> Vocabulary:
    return Vocabulary(
        [
            Concept("x:boat", {"en": "boat", "de": "Boot"}, {"en": ["ship"]}, notation="B1"),
            Concept("x:bike", {"en": "bike", "de": "Fahrrad"}),
            Concept("x:oil", {"en": "oil"}),
            Concept("x:new", {"en": "paint"}),
        ]
    )


def data(labels: list[list[str]]) -> Dataset:
    return as_dataset(TEXTS, labels)


@pytest.fixture(scope="module")
def model() -> Zipfel:
    return Zipfel("knn").fit(TEXTS, LABELS, vocabulary=concepts())


def test_labels_of_one_concept_are_one_label(model: Zipfel) -> None:
    assert model.n_labels_ == 4
    assert model.vocabulary_ is not None
    place = model.vocabulary_.positions["x:boat"]
    assert model.label_counts_[place] == 2
    assert model.label_counts_[model.vocabulary_.positions["x:new"]] == 0


def test_what_is_told_of_an_answer(model: Zipfel) -> None:
    ranking = model.predict(["a boat"], k=1)
    assert names_by_document(ranking, model.vocabulary_, "de") == [
        {"ids": ["x:boat"], "names": ["Boot"], "notations": ["B1"]}
    ]
    assert names_by_document(model.predict(["bike"], k=1), None)[0]["names"] == [
        next(iter(model.predict(["bike"], k=1).rows()))[0][0]
    ]


def test_test_data_may_name_labels_in_another_way(model: Zipfel) -> None:
    by_id = [["x:bike"], ["x:bike", "x:oil"], ["x:boat"], ["x:boat"]]
    by_name = [["bike"], ["bike", "oil"], ["boat"], ["boat"]]
    assert model.evaluate(data(by_id), ks=(1,)) == model.evaluate(data(by_name), ks=(1,))


def test_it_is_kept(model: Zipfel, tmp_path: Path) -> None:
    model.save(tmp_path / "m")
    again = Zipfel.load(tmp_path / "m")
    assert again.vocabulary_ is not None
    assert model.vocabulary_ is not None
    assert again.vocabulary_.to_json() == model.vocabulary_.to_json()
    again.partial_fit(["a green tractor"], [["tractor"]])
    assert again.vocabulary_.identifier(4) == "tractor"
    again.save(tmp_path / "m")
    files = load_model(tmp_path / "m")
    broken = {**files.documents, "vocabulary": {**files.documents["vocabulary"], "ids": ["x"]}}
    save_model(tmp_path / "broken", type(files)(files.config, files.arrays, broken))
    with pytest.raises(ModelFileError, match=r"vocabulary.json"):
        Zipfel.load(tmp_path / "broken")


def test_unknown_labels_are_skipped_or_refused() -> None:
    labels = [["x:bike"], ["car"], ["x:boat"], ["ship"]]
    model = Zipfel("knn").fit(TEXTS, labels, vocabulary=concepts())
    assert model.label_counts_.sum() == 3
    with pytest.raises(DataError, match="label 'car' is not in the vocabulary"):
        Zipfel("knn").fit(TEXTS, labels, vocabulary=concepts(), unknown_labels="refuse")
    with pytest.raises(ParameterError, match="skip, refuse"):
        Zipfel("knn").fit(TEXTS, labels, vocabulary=concepts(), unknown_labels="maybe")
    with pytest.raises(DataError, match="no vocabulary can name them"):
        Zipfel("knn").fit(TEXTS, np.eye(4), vocabulary=concepts())


def test_languages_are_checked(model: Zipfel) -> None:
    assert check_language(model.vocabulary_, "DE") == "de"
    with pytest.raises(ParameterError, match="its languages are: en, de"):
        check_language(model.vocabulary_, "fr")
    with pytest.raises(DataError, match="no vocabulary"):
        check_language(None, "en")
