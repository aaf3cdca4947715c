"""DataFrames of pandas and polars."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from zipfel import Zipfel
from zipfel.errors import DataError
from zipfel.estimator.frames import frame_texts, is_column, is_frame
from zipfel.estimator.inputs import as_dataset, as_dataset_of_any, as_features, as_labels

TEXTS = ["a red bike", "a blue boat", "red boats"]
TAGS = [["bike"], ["boat"], ["boat", "paint"]]


@pytest.fixture(params=["pandas", "polars"])
def lib(request: Any) -> Any:
    return pytest.importorskip(request.param)


def test_a_frame_fits_predicts_and_evaluates_by_the_names_of_its_columns(lib: Any) -> None:
    frame = lib.DataFrame({"id": [1, 2, 3], "head": TEXTS, "tags": TAGS})
    model = Zipfel("knn", n_neighbors=1).fit(frame, text="head", labels="tags")
    assert model.label_names_ == ["bike", "boat", "paint"]
    assert len(model.predict(frame, k=1, text="head")) == 3
    assert len(model.predict(frame[["head"]], k=1)) == 3
    assert len(model.predict(frame["head"], k=1)) == 3
    assert model.evaluate(frame, text="head", labels="tags")["P@1"] == 1.0
    again = Zipfel("knn", n_neighbors=1).fit(frame["head"], frame["tags"])
    assert again.evaluate(frame[["head"]], frame["tags"])["P@1"] == 1.0


def test_the_usual_names_need_not_be_said(lib: Any) -> None:
    frame = lib.DataFrame({"text": TEXTS, "labels": TAGS, "x": [1.0, 2.0, 3.0]})
    data = as_dataset(frame, None)
    assert data.texts == TEXTS
    assert data.label_names == ["bike", "boat", "paint"]
    assert as_dataset_of_any(frame, None).texts == TEXTS


def test_several_columns_are_joined(lib: Any) -> None:
    frame = lib.DataFrame({"title": ["one", "two"], "body": ["a", ""]})
    assert frame_texts(frame, ["title", "body"]) == ["one a", "two"]


def test_what_is_not_clear_is_refused(lib: Any) -> None:
    frame = lib.DataFrame({"head": TEXTS, "body": TEXTS, "tags": ["a,b", "b,c", "a"]})
    with pytest.raises(DataError, match=r"3 columns .*text='head'"):
        as_features(frame)
    with pytest.raises(DataError, match=r"no column 'hed' with texts .did you mean 'head'"):
        frame_texts(frame, "hed")
    with pytest.raises(DataError, match="no column 'labels' with labels"):
        as_dataset(frame, None, text="head")
    with pytest.raises(DataError, match=r"several labels, such as 'a,b': pass lists, e.g. \[row.split\(','\)"):
        as_dataset(frame, None, text="head", labels="tags")


def test_a_missing_text_names_its_row_and_missing_labels_are_none(lib: Any) -> None:
    frame = lib.DataFrame({"text": ["a", None, "b"], "labels": [["x"], None, []]})
    with pytest.raises(DataError, match="column 'text', row 1: the text is missing"):
        as_features(frame)
    assert as_dataset(["a", "b", "c"], frame["labels"]).Y.toarray().tolist() == [[1], [0], [0]]


def test_a_frame_of_numbers_is_features(lib: Any) -> None:
    frame = lib.DataFrame({"a": [1, 0], "b": [0.5, 2.0]})
    texts, X = as_features(frame)
    assert texts is None
    assert X is not None
    np.testing.assert_array_equal(X.toarray(), [[1, 0.5], [0, 2]])


def test_what_is_a_frame_and_what_a_column(lib: Any) -> None:
    frame = lib.DataFrame({"a": ["x"]})
    assert is_frame(frame)
    assert is_column(frame["a"])
    for other in ([1], np.zeros((2, 2)), np.zeros(2), {"a": 1}, "text"):
        assert not is_frame(other)
        assert not is_column(other)


def test_strings_that_are_single_labels_are_taken() -> None:
    assert as_labels(["a", "b", "a"])[1] == ["a", "b"]
    assert as_labels([["a, b"], ["c"]])[1] == ["a, b", "c"]
    with pytest.raises(DataError, match="several labels"):
        as_labels(["a|b", "c"])


@pytest.mark.parametrize(
    ("labels", "message"),
    [([["a"], ["b", 1]], "row 1 hold 1"), ([["a"], None], "row 1 must be a list"), ([[1], [2.5]], "row 1 hold 2.5")],
)
def test_bad_labels_name_the_row(labels: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        as_labels(labels)


def test_a_text_column_of_no_frame_is_refused() -> None:
    with pytest.raises(DataError, match="row 1 is int '3'"):
        as_features(["a", 3])
    with pytest.raises(DataError, match="names a column of a DataFrame"):
        as_dataset(["a"], [["x"]], text="body")
