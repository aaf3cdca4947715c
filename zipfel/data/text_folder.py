"""Annif's corpus of longer texts: a folder of NAME.txt files, each with its subjects beside it.

NAME.tsv has a subject a line, `<URI>` TAB name; NAME.key a name a line. Where both are there, the identifiers count.
"""

from __future__ import annotations

from pathlib import Path

from zipfel.data.dataset import Dataset
from zipfel.data.documents import Documents
from zipfel.data.streams import open_stream
from zipfel.data.vocabulary import clean_id
from zipfel.errors import DataError

_TEXT, _BY_ID, _BY_NAME = ".txt", ".tsv", ".key"


def is_text_folder(path: str | Path) -> bool:
    """Whether this is a folder with texts in it."""
    folder = Path(path)
    return folder.is_dir() and any(file.suffix == _TEXT for file in folder.iterdir())


def read_text_folder(path: str | Path, *, need_labels: bool) -> Dataset:
    """The texts by name; need_labels: whether a text without a file of subjects is an error."""
    folder, documents = Path(path), Documents()
    for file in sorted(file for file in folder.iterdir() if file.suffix == _TEXT):
        documents.add("\n".join(_lines(file)), _subjects(file, need_labels=need_labels), file.stem)
    return documents.dataset(str(folder))


def _subjects(file: Path, *, need_labels: bool) -> list[str]:
    by_id, by_name = file.with_suffix(_BY_ID), file.with_suffix(_BY_NAME)
    if by_id.exists():
        return [clean_id(line.split("\t")[0]) for line in _lines(by_id) if line.strip()]
    if by_name.exists():
        return [line.strip() for line in _lines(by_name) if line.strip()]
    if need_labels:
        raise DataError(f"there is no {by_id.name} and no {by_name.name} beside it", path=file)
    return []


def _lines(file: Path) -> list[str]:
    with open_stream(file) as stream:
        return [line for _, line in stream.lines()]
