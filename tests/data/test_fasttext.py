from __future__ import annotations

from pathlib import Path

import pytest

from zipfel.data import read, read_documents
from zipfel.errors import DataError


def test_lines(good: Path) -> None:
    dataset = read(good / "ft.txt")
    assert dataset.texts == ["one two", "three"]
    assert dataset.label_names == ["a", "b"]
    assert dataset.Y.toarray().tolist() == [[1, 1], [0, 0]]


def test_labels_may_stand_anywhere(put) -> None:
    dataset = read(put("f.txt", "one __label__é two __label__x\n\n"))
    assert (dataset.texts, dataset.label_names) == (["one two", ""], ["é", "x"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("__label__a one\n__label__ two\n", ":2: __label__ must be followed by a name"),
        (b"__label__a one\n\xe9\n", ":2: byte 1 of the line is not UTF-8"),
        ("one\n", ": there is no label: no word begins with __label__"),
    ],
)
def test_broken_files(put, content: str | bytes, message: str) -> None:
    with pytest.raises(DataError, match="b.txt" + message):
        read(put("b.txt", content), format="fasttext")


def test_documents_need_no_labels(put) -> None:
    assert read_documents(put("f.txt", "one\n"), format="fasttext").texts == ["one"]
