"""fastText lines: words that begin with __label__ are labels, wherever they stand; the other words are the text."""

from __future__ import annotations

from zipfel.data.dataset import Dataset
from zipfel.data.documents import Documents, Fields
from zipfel.data.streams import Stream
from zipfel.errors import DataError

PREFIX = "__label__"


def read_fasttext(stream: Stream, fields: Fields) -> Dataset:
    """Every line is a row, an empty one too; a file without a single label is an error where labels are needed."""
    documents, n_labels = Documents(), 0
    for number, line in stream.lines():
        words = line.split()
        labels = [word[len(PREFIX) :] for word in words if word.startswith(PREFIX)]
        if not all(labels):
            raise DataError(f"{PREFIX} must be followed by a name", path=stream.name, line=number)
        n_labels += len(labels)
        documents.add(" ".join(word for word in words if not word.startswith(PREFIX)), labels, line=number)
    if fields.need_labels and len(documents) and not n_labels:
        raise DataError(
            f"there is no label: no word begins with {PREFIX}", path=stream.name, remedy="is it in another format?"
        )
    return documents.dataset(stream.name)
