"""Lines of CSV, TSV and fastText files: texts with their labels' names."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from zipfel.data.dataset import Dataset
from zipfel.data.documents import RowNumber
from zipfel.data.fasttext import PREFIX
from zipfel.errors import DataError

SEPARATOR = "|"
"""Between the labels of a CSV cell; where labels hold a sign that separates, cells are JSON lists."""

_SEPARATES = re.compile(r"[|;,\t]|^\s*[\[<]|^[0-9\s]*\s[0-9\s]*$|^\s|\s$")


def delimited_lines(dataset: Dataset, path: Path, separator: str) -> Iterator[str]:
    """A header, then a row a document: id, where there are ids, text and labels. Line ends are \\n."""
    texts, names = texts_of(dataset, path), _label_names(dataset)
    lists = any(_SEPARATES.search(name) for name in names)
    ids = dataset.ids if dataset.ids is not None and not all(isinstance(i, RowNumber) for i in dataset.ids) else None
    yield _row([*([] if ids is None else ["id"]), "text", "labels"], separator)
    for i, (text, labels) in enumerate(zip(texts, _labels_of(dataset, names), strict=True)):
        cell = json.dumps(labels, ensure_ascii=False) if lists else SEPARATOR.join(labels)
        yield _row([*([] if ids is None else [str(ids[i])]), text, cell], separator)


def fasttext_lines(dataset: Dataset, path: Path) -> Iterator[str]:
    """__label__NAME ... TEXT; blanks in names become underscores, line ends in texts blanks."""
    texts, names = texts_of(dataset, path), [re.sub(r"\s+", "_", name.strip()) for name in _label_names(dataset)]
    _check_distinct(names, path)
    for text, labels in zip(texts, _labels_of(dataset, names), strict=True):
        words = (word.replace(PREFIX, "label ") for word in text.split())
        yield " ".join([*(PREFIX + label for label in labels), *words]) + "\n"


def texts_of(dataset: Dataset, path: Path) -> Sequence[str]:
    if dataset.texts is None:
        raise DataError(
            "this format holds texts, and the data set has only numbers", path=path, remedy="write XMC or svmlight"
        )
    return dataset.texts


def _label_names(dataset: Dataset) -> list[str]:
    return list(dataset.label_names) if dataset.label_names is not None else [str(i) for i in range(dataset.n_labels)]


def _labels_of(dataset: Dataset, names: Sequence[str]) -> Iterator[list[str]]:
    Y = dataset.Y
    for start, stop in zip(Y.indptr[:-1].tolist(), Y.indptr[1:].tolist(), strict=True):
        yield [names[label] for label in Y.indices[start:stop].tolist()]


def _check_distinct(names: Sequence[str], path: Path) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen or not name:
            raise DataError(
                f"two labels would be {name!r}, because fastText's labels have no spaces"
                if name
                else "a label has no name",
                path=path,
                remedy="write JSON lines (.jsonl) or CSV (.csv)",
            )
        seen.add(name)


def _row(cells: list[str], separator: str) -> str:
    line = io.StringIO()
    unix = [re.sub(r"\r\n?", "\n", cell) for cell in cells]
    csv.writer(line, delimiter=separator, lineterminator="\n").writerow(unix)
    return line.getvalue()
