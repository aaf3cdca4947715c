"""Text without labels, one document a line: what is piped to `zipfel predict`."""

from __future__ import annotations

from zipfel.data.dataset import Dataset
from zipfel.data.documents import Documents
from zipfel.data.streams import Stream


def read_plain_text(stream: Stream) -> Dataset:
    """Every line is a document, an empty one too, so that answers and lines match."""
    documents = Documents()
    for _, line in stream.lines():
        documents.add(line, ())
    return documents.dataset(stream.name)
