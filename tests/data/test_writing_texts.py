"""CSV, TSV and fastText that are written are read back the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from zipfel.data import Dataset, label_matrix, read, write
from zipfel.errors import DataError

TEXTS = ['a "quoted" text', "two\nlines, and a comma", "a\ttab; and more", "plain"]


def data(names: list[str], *, ids: bool = True) -> Dataset:
    Y = label_matrix(np.array([0, 0, 1, 3]), np.array([0, 1, 1, 2]), (4, 3))
    return Dataset(Y=Y, texts=TEXTS, label_names=names, ids=["1", "b", "c", "d"] if ids else None)


def tagged(dataset: Dataset) -> list[set[str]]:
    assert dataset.label_names is not None
    Y = dataset.Y
    return [{dataset.label_names[i] for i in Y.indices[a:b]} for a, b in zip(Y.indptr, Y.indptr[1:], strict=False)]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz"])
@pytest.mark.parametrize(
    "names", [["bike", "red boat", "oil"], ["law, public", "a|b", "c;d"], ["[x]", "<y>", "1 2"], ["1", "2", "3"]]
)
@pytest.mark.parametrize("ids", [False, True])
def test_tables_are_read_back_the_same(tmp_path: Path, suffix: str, names: list[str], ids: bool) -> None:
    path = tmp_path / f"data{suffix}"
    assert write(data(names, ids=ids), path) == [path]
    found = read(path)
    assert list(found.texts or ()) == TEXTS
    assert tagged(found) == tagged(data(names))
    assert (found.ids is not None) == ids
    if ids:
        assert list(found.ids or ()) == ["1", "b", "c", "d"]


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), min_size=1), min_size=4, max_size=4
    ),
    st.lists(
        st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1), min_size=3, max_size=3, unique=True
    ),
)
def test_any_text_and_name_survives(tmp_path: Path, suffix: str, texts: list[str], names: list[str]) -> None:
    dataset = replace(data(names), texts=texts)
    write(dataset, tmp_path / f"a{suffix}")
    found = read(tmp_path / f"a{suffix}")
    assert list(found.texts or ()) == texts
    assert tagged(found) == tagged(dataset)


def test_fasttext_is_read_back_with_plain_blanks(tmp_path: Path) -> None:
    path = tmp_path / "data.txt"
    write(data(["bike", "red boat", "oil"]), path, format="fasttext")
    assert path.read_text().splitlines()[0] == '__label__bike __label__red_boat a "quoted" text'
    found = read(path)
    assert list(found.texts or ()) == [" ".join(text.split()) for text in TEXTS]
    assert tagged(found) == [{"bike", "red_boat"}, {"red_boat"}, set(), {"oil"}]


def test_labels_that_would_become_one_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="two labels would be 'a_b'"):
        write(data(["a b", "a_b", "c"]), tmp_path / "data.ft")
    assert not (tmp_path / "data.ft").exists()


def test_numbers_are_refused(tmp_path: Path) -> None:
    numbers = Dataset(Y=data(["a", "b", "c"]).Y, X=data(["a", "b", "c"]).Y)
    for name in ("data.csv", "data.ft"):
        with pytest.raises(DataError, match="this format holds texts"):
            write(numbers, tmp_path / name)
