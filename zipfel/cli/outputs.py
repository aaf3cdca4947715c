"""The files that `zipfel predict` writes: JSON lines, CSV, TSV, Parquet and Annif's TSV, as the answers come."""

from __future__ import annotations

import csv
import gzip
import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

from zipfel.cli.answers import Answer, as_json, write_lines, writer
from zipfel.cli.console import one_line, printable
from zipfel.errors import DataError, MissingExtraError, ParameterError, nearest

Write = Callable[[Iterable[Answer]], None]

FORMATS = {".jsonl": "jsonl", ".json": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv", ".parquet": "parquet"}
"""Format by the name's end; Annif's TSV has to be asked for."""
COLUMNS = ("document", "id", "rank", "label", "name", "score")
"""Of CSV and TSV: a row for each label of each document. document: counts from 0. name: for people."""


def format_of(output: Path | None, to: str | None, *, json: bool) -> str | None:
    """The format that the options name; None: it depends on the target of the output."""
    known = {*FORMATS.values(), "annif"}
    if to is not None and to not in known:
        raise ParameterError(f"there is no output format {to!r}{nearest(to, known)}")
    if to is not None or json:
        return to or "jsonl"
    if output is None:
        return None
    found = FORMATS.get(Path(output.name.removesuffix(".gz")).suffix)
    if found is None:
        raise ParameterError(f"the name {output.name!r} does not say which format: add --to jsonl, csv, tsv or annif")
    return found


@contextmanager
def opened(output: Path | None, kind: str | None) -> Iterator[Write]:
    """Writes to standard output, or to a file that is there when the block ends without an error."""
    if output is None:
        if kind == "parquet":
            raise ParameterError("Parquet can't go to standard output: name a file with --output")
        yield writer() if kind is None else _written(sys.stdout, kind)
        return
    fresh = output.with_name(f"{output.name}.zipfel-tmp-{os.getpid()}")
    try:
        with _parquet(fresh) if kind == "parquet" else _text(fresh, str(kind), packed=output.suffix == ".gz") as write:
            yield write
        fresh.replace(output)
    except OSError as error:
        raise DataError(f"the answers can't be written ({error.strerror or error})", path=output) from None
    finally:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)


@contextmanager
def _text(path: Path, kind: str, *, packed: bool) -> Iterator[Write]:
    with (
        gzip.open(path, "wt", encoding="utf-8", newline="")
        if packed
        else path.open("w", encoding="utf-8", newline="") as file
    ):
        yield _written(file, kind)


def _written(file: TextIO, kind: str) -> Write:
    """A function that writes answers to the file, one call after another."""
    if kind == "jsonl":
        return lambda answers: write_lines(answers, as_json, file)
    if kind == "annif":
        return lambda answers: write_lines((answer for answer in answers if answer.error is None), as_annif, file)
    return _Table(file, kind).write


class _Table:
    """CSV or TSV with a header."""

    def __init__(self, file: TextIO, kind: str) -> None:
        self._file, self._separator, self._n_documents = file, "," if kind == "csv" else "\t", 0
        self._put([COLUMNS])

    def _put(self, rows: Iterable[Iterable[object]]) -> None:
        text = io.StringIO()
        csv.writer(text, delimiter=self._separator, lineterminator="\n").writerows(rows)
        self._file.write(printable(text.getvalue()) if self._file is sys.stdout else text.getvalue())
        self._file.flush()

    def write(self, answers: Iterable[Answer]) -> None:
        for answer in answers:
            self._put(self._rows(answer))
            self._n_documents += 1

    def _rows(self, answer: Answer) -> Iterator[tuple[object, ...]]:
        for rank, ((label, score), (name, _)) in enumerate(zip(answer.labels, answer.shown, strict=True), 1):
            words = (one_line(label), rank, one_line(name)) if self._separator == "\t" else (label, rank, name)
            yield self._n_documents, answer.id, words[1], words[0], words[2], f"{score:.6f}"


def as_annif(answer: Answer) -> str:
    """A line of Annif's corpora: the text, then the labels' identifiers.

    >>> as_annif(Answer(None, "", [("http://a.example/1", 0.5)], text="two  words"))
    'two words\\t<http://a.example/1>'
    """
    if answer.text is None:
        raise ParameterError("Annif's TSV holds texts, and these documents are rows of features: write jsonl or csv")
    ids = [str(label) for label in answer.told.get("ids", [label for label, _ in answer.labels])]
    odd = [label for label in ids if any(sign in label for sign in " \t\n<>")]
    if odd:
        raise ParameterError(f"Annif's TSV has no place for the label {odd[0]!r:.80}, which has a space: write csv")
    return f"{one_line(answer.text)}\t{' '.join(f'<{label}>' for label in ids)}"


@contextmanager
def _parquet(path: Path) -> Iterator[Write]:
    """A row a document: id, labels, names, scores, error."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtraError("pyarrow", "parquet", "writing Parquet") from None
    words = pa.list_(pa.string())
    schema = pa.schema(
        {"id": pa.string(), "labels": words, "names": words, "scores": pa.list_(pa.float64()), "error": pa.string()}
    )
    with pq.ParquetWriter(path, schema) as file:

        def write(answers: Iterable[Answer]) -> None:
            rows = [_record(answer) for answer in answers]
            if rows:
                file.write_table(pa.Table.from_pylist(rows, schema))

        yield write


def _record(answer: Answer) -> dict[str, Any]:
    if answer.error is not None:
        return {"id": answer.id, "error": answer.error}
    names, scores = [name for name, _ in answer.shown], [score for _, score in answer.labels]
    return {"id": answer.id, "labels": [label for label, _ in answer.labels], "names": names, "scores": scores}
