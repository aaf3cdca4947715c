"""`pack`: any data file to a folder of memory-mapped arrays, in one pass, with flat memory, resumable.

Rows are appended to files in a hidden folder beside OUT. After each piece, a journal records the length of every file.
Packing that was stopped continues from the last record. When all is complete, the folder is renamed to OUT.
"""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from zipfel.data import formats
from zipfel.data.dataset import Dataset, ReadReport
from zipfel.data.documents import Fields
from zipfel.data.names import with_names_beside
from zipfel.data.pack_writer import JOURNAL, LOCK, PackWriter
from zipfel.data.packed import is_packed, open_packed
from zipfel.data.pieces import IN_PIECES, Piece, check_labels, header_layout, pieces, skip
from zipfel.data.reading import read, read_documents
from zipfel.data.streams import STDIN, Stream, bare_suffix, open_stream
from zipfel.errors import DataError
from zipfel.system.interrupts import check_halted

_ROWS = 5000
"""Rows of a data set that are packed at a time."""


def pack(
    source: str | Path,
    out: str | Path,
    *,
    format: str = "auto",  # noqa: A002 - the word users look for
    labels: str | Path | None = None,
    text_column: str | None = None,
    label_column: str | None = None,
    id_column: str | None = None,
    label_separator: str | None = None,
    need_labels: bool = True,
    workers: int = 1,
    force: bool = False,
    on_rows: Callable[[int], object] = lambda _: None,
) -> Dataset:
    """Packs the data file `source` into the folder `out` and opens it. `read(out)` gives what `read(source)` gives.

    format, labels, text_column, label_column, id_column, label_separator: as in `read`.
    need_labels: whether a row without a field of labels is an error.
    workers: processes that parse JSON lines, fastText and plain text. force: replace an older packed folder.
    on_rows: called now and then with the number of rows that were added.
    A call that was stopped continues if the source and the options are the same.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "two.jsonl"
    ...     _ = file.write_text('{"text": "a red bike", "labels": ["bike"]}\\n{"text": "a boat", "labels": []}\\n')
    ...     pack(file, Path(folder) / "packed").texts[0]
    'a red bike'
    """
    target = Path(out)
    check_packing_target(target, force=force)
    fields = Fields(text_column, label_column, id_column, label_separator, need_labels)
    job = _Job(str(source), format, labels, fields, workers, on_rows)
    partial = target.parent / f".{target.name}.zipfel-packing"
    with _locked(partial, target):
        writer = PackWriter(partial, job.identity())
        try:
            job.run(writer)
        finally:
            writer.close()
        if target.exists():
            shutil.rmtree(target)
        (partial / JOURNAL).unlink(missing_ok=True)
        (partial / LOCK).unlink(missing_ok=True)
        partial.rename(target)
    return open_packed(target)


def pack_dataset(dataset: Dataset, out: str | Path) -> Dataset:
    """Packs a data set, some rows at a time, into a folder that is not there yet, and opens it.

    >>> from tempfile import TemporaryDirectory
    >>> from zipfel.data import label_matrix
    >>> with TemporaryDirectory() as folder:
    ...     pack_dataset(Dataset(label_matrix([0], [0], (1, 1)), texts=["a boat"]), Path(folder) / "packed").n_points
    1
    """
    target = Path(out)
    check_packing_target(target, force=False)
    target.mkdir(parents=True, exist_ok=True)
    writer = PackWriter(target, {})
    for start in range(0, max(1, dataset.n_points), _ROWS):
        rows = dataset.take(np.arange(start, min(start + _ROWS, dataset.n_points)))
        writer.append(Piece.of(replace(rows, report=dataset.report if start == 0 else ReadReport()), numbered=True))
    writer.give_names(dataset)
    writer.finish(dataset.name)
    (target / JOURNAL).unlink()
    return open_packed(target)


def check_packing_target(target: Path, *, force: bool) -> None:
    """Refuses what would be lost."""
    if target.is_dir() and is_packed(target) and not force:
        raise DataError(
            "there is packed data already", path=target, remedy="choose another name, or replace it with force"
        )
    if target.exists() and not is_packed(target) and not (target.is_dir() and not any(target.iterdir())):
        raise DataError("exists and is no packed data", path=target, remedy="choose another name")


class _Job:
    """What is packed, and how."""

    def __init__(
        self,
        source: str,
        format: str,  # noqa: A002 - as above
        labels: str | Path | None,
        fields: Fields,
        workers: int,
        on_rows: Callable[[int], object],
    ) -> None:
        self.source, self.format, self.labels, self.fields = source, format, labels, fields
        self.workers, self.on_rows = workers, on_rows

    def identity(self) -> dict[str, Any]:
        """What must be the same for work to go on. Standard input is never the same."""
        known: dict[str, Any] = {"path": self.source, "format": self.format, "fields": repr(self.fields)}
        if self.source != STDIN and Path(self.source).is_file():
            found = Path(self.source).stat()
            return {**known, "path": str(Path(self.source).resolve()), "size": found.st_size, "time": found.st_mtime_ns}
        return {**known, "time": -1, "new": id(self)}

    def run(self, writer: PackWriter) -> None:
        """Appends what the journal does not have yet, and finishes the folder."""
        with open_stream(self.source) as stream:
            kind = self._format_of(stream)
            if kind in IN_PIECES:
                self._append_pieces(stream, kind, writer)
                name = "stdin" if self.source == STDIN else Path(self.source).name.partition(".")[0]
                writer.finish(name)
                self._add_names_beside(writer, name)
                return
        if self.source == STDIN:
            raise DataError(f"{kind} can't be packed from standard input", remedy="name the file")
        whole = self._read_whole()
        writer.start_anew()
        writer.append(Piece.of(whole, numbered=True))
        writer.give_names(whole)
        writer.finish(whole.name)
        self.on_rows(whole.n_points)

    def _append_pieces(self, stream: Stream, kind: str, writer: PackWriter) -> None:
        layout, done = header_layout(stream, kind), writer.journal
        if layout is not None:
            writer.widen(*((0, 0) if layout.headless else (layout.n_features, layout.n_labels)))
        skip(stream, done.at)
        self.on_rows(done.n_points)
        first = done.line + (2 if kind == formats.XMC else 1)
        for piece in pieces(stream, kind, self.fields, layout, first, self.workers):
            writer.append(piece)
            self.on_rows(int(piece.Y.shape[0]))
            check_halted()
        promised = None if layout is None else layout.n_rows
        if promised is not None and promised != done.n_points:
            message = f"the header says {promised:,} rows but there are {done.n_points:,}"
            raise DataError(message, path=stream.name, line=1, remedy="the file is cut off or its header is wrong")
        if not done.n_points:
            raise DataError("has no rows", path=stream.name)
        check_labels(kind, writer.n_label_entries, self.fields, stream.name)

    def _format_of(self, stream: Stream) -> str:
        if not stream.head():
            raise DataError("the file is empty", path=stream.name)
        if self.format != "auto":
            return self.format
        suffix = "" if self.source == STDIN else bare_suffix(self.source)
        return formats.detect(stream.head(), stream.name, suffix, need_labels=self.fields.need_labels)

    def _read_whole(self) -> Dataset:
        reader, fields = (read if self.fields.need_labels else read_documents), self.fields
        return reader(
            self.source,
            format=self.format,
            labels=self.labels,
            text_column=fields.text,
            label_column=fields.labels,
            id_column=fields.id,
            label_separator=fields.label_separator,
        )

    def _add_names_beside(self, writer: PackWriter, name: str) -> None:
        """labels.txt and features.txt beside files of numbers, as `read` picks them up."""
        done = writer.journal
        if done.n_features is None or self.source == STDIN or self.format == formats.JSONL:
            return
        packed = open_packed(writer.folder)
        if packed.label_names is None:
            writer.give_names(with_names_beside(packed, self.source))
            writer.finish(name)


@contextmanager
def _locked(partial: Path, target: Path) -> Iterator[None]:
    """The folder that grows belongs to one process at a time."""
    partial.mkdir(parents=True, exist_ok=True)
    with (partial / LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise DataError("is being packed by another process", path=target) from None
        yield
