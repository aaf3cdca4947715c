"""`--embeddings` and `--encoder` of several commands: vectors that the user made, or a function that makes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zipfel.classifier import Zipfel
    from zipfel.data import Dataset, Vocabulary
    from zipfel.data.chunks import Chunk


@dataclass(frozen=True)
class Names:
    """What is known of the labels: a vocabulary, what to do about labels that it does not have, and a file with
    embeddings of its names."""

    vocabulary: Vocabulary | None
    unknown_labels: str
    embeddings: Path | None

    def arguments(self) -> dict[str, Any]:
        """For `Zipfel.fit`."""
        from zipfel.data.embeddings import read_embeddings
        from zipfel.errors import ParameterError

        if self.embeddings is not None and self.vocabulary is None:
            raise ParameterError("--label-embeddings has rows in the vocabulary's order: name it with --vocabulary")
        rows = None if self.embeddings is None else read_embeddings(self.embeddings)
        return {"vocabulary": self.vocabulary, "unknown_labels": self.unknown_labels, "label_embeddings": rows}


def load_with(folder: Path, encoder: str | None) -> Zipfel:
    """The model of a folder, with the encoder that the user named."""
    from zipfel.classifier import Zipfel

    model = Zipfel.load(folder)
    name_encoder(model, encoder)
    return model


def name_encoder(model: Zipfel, encoder: str | None) -> None:
    """Imports the encoder, so that a wrong name is told before a large file is read."""
    from zipfel.estimator.encoding import encoder_of

    if encoder is not None:
        encoder_of(encoder)
        model.encoder = encoder


def with_file(data: Dataset, file: Path | None) -> Dataset:
    """The documents with the embeddings of a file, a row a document."""
    from zipfel.data.embeddings import read_embeddings
    from zipfel.errors import DataError

    if file is None:
        return data
    found = read_embeddings(file)
    if len(found) != len(data):
        raise DataError(f"has {len(found):,} rows for {len(data):,} documents: each document needs one row", path=file)
    return replace(data, embeddings=found)


def files_for(n: int, files: Sequence[Path] | None) -> list[Path | None]:
    """A file of embeddings for each of n files of documents; None for each if there are none."""
    from zipfel.errors import ParameterError

    if not files:
        return [None] * n
    if len(files) != n:
        raise ParameterError(
            f"--embeddings is needed once for each file of documents (training, --valid, --test, in this order): {n} "
            f"times here, got {len(files)}"
        )
    return list(files)


def chunks_with_file(chunks: Iterable[Chunk], file: Path | None) -> Iterable[Chunk]:
    """The chunks with the embeddings of a file, a row a line of the documents, also of a line that can't be read."""
    return chunks if file is None else _chunks_with_file(chunks, file)


def _chunks_with_file(chunks: Iterable[Chunk], file: Path) -> Iterator[Chunk]:
    from zipfel.data.embeddings import read_embeddings
    from zipfel.errors import DataError

    rows, at = read_embeddings(file), 0
    for chunk in chunks:
        places = [at + i for i in range(chunk.n_rows) if i not in chunk.faults]
        at += chunk.n_rows
        if at > len(rows):
            raise DataError(f"has {len(rows):,} rows, and there are more documents: each needs one row", path=file)
        yield replace(chunk, documents=replace(chunk.documents, embeddings=rows[places]))
    if at < len(rows):
        raise DataError(f"has {len(rows):,} rows for {at:,} documents: each document needs one row", path=file)


def chunks_encoded(model: Zipfel, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """The chunks with the embeddings that the model reads: workers have no encoder of their own."""
    for chunk in chunks:
        yield replace(chunk, documents=replace(chunk.documents, embeddings=model.vectors_of(chunk.documents)))
