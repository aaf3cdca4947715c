"""Annif's folders of texts."""

from __future__ import annotations

from pathlib import Path

import pytest

from zipfel.data import Concept, Vocabulary, read, read_documents
from zipfel.data.chunks import read_chunks
from zipfel.data.vocabulary_labels import match_labels
from zipfel.errors import DataError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {
        "b.txt": "A ship\nat sea\n",
        "b.key": "Ship\nBoat\n",
        "a.txt": "A boat",
        "a.tsv": "<http://x/1>\tBoat\n\n",
        "a.key": "Nothing\n",
        "notes.md": "no text",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_texts_with_their_subjects(folder: Path) -> None:
    found = read(folder)
    assert list(found.texts or ()) == ["A boat", "A ship\nat sea"]
    assert found.ids == ["a", "b"]
    names = found.label_names or []
    assert [sorted(names[j] for j in row.indices) for row in found.Y] == [["http://x/1"], ["Boat", "Ship"]]
    concepts = [Concept("http://x/1", {"": "Boat"}), Concept("http://x/2", {"": "Ship"})]
    matched, _, unmatched = match_labels(found, Vocabulary(concepts))
    assert matched.Y.toarray().sum(axis=1).tolist() == [1, 2]
    assert not unmatched


def test_subjects_may_be_missing_only_in_prediction(folder: Path) -> None:
    (folder / "c.txt").write_text("A train")
    with pytest.raises(DataError, match=r"c\.txt.*no c\.tsv and no c\.key"):
        read(folder)
    assert read_documents(folder).n_points == 3
    assert [chunk.ids for chunk in read_chunks(folder)] == [["a", "b", "c"]]


def test_a_folder_without_texts_is_no_corpus(tmp_path: Path) -> None:
    (tmp_path / "x.md").write_text("no")
    with pytest.raises(DataError, match="folder"):
        read(tmp_path)
    (tmp_path / "bad.txt").write_bytes(b"\xff\xfe broken")
    (tmp_path / "bad.key").write_text("x")
    with pytest.raises(DataError, match=r"bad\.txt"):
        read(tmp_path)
