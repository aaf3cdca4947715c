"""The files of packed data while they grow: rows are appended, and a journal says how long every file is."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from zipfel import __version__
from zipfel.data.dataset import Dataset
from zipfel.data.packed import DTYPES, FORMAT, FORMAT_VERSION, MANIFEST, PackedStrings, digest_file, digest_json
from zipfel.data.pieces import Piece, Strings
from zipfel.errors import DataError

JOURNAL, LOCK = "journal.json", "lock"
_MIXED = "some rows have features, others have none"


@dataclass
class Journal:
    """How far the work is.

    source: what tells whether the same file is packed in the same way. at, line: bytes and lines of it that are done.
    sizes: bytes of every file. report: what was mended so far, as in `ReadReport`.
    """

    source: dict[str, Any]
    at: int = 0
    line: int = 0
    n_points: int = 0
    n_labels: int = 0
    n_features: int | None = None
    report: dict[str, int] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)


class PackWriter:
    """The files of one folder. Packing the same source continues where the journal ends. Any other source starts from
    the beginning."""

    def __init__(self, folder: Path, source: dict[str, Any]) -> None:
        self.folder, self._source = folder, source
        self._files: dict[str, BinaryIO] = {}
        self._label_ids: dict[str, int] = {}
        known = _read_journal(folder)
        if known is None or known.source != source or not self._cut_to(known.sizes):
            self.start_anew()
            return
        self.journal = known
        if self._length("label_names.utf8"):
            offsets = np.fromfile(folder / "label_names.offsets", dtype=DTYPES["label_names.offsets"])
            names = PackedStrings(folder / "label_names.utf8", offsets)
            self._label_ids = {name: i for i, name in enumerate(names)}

    def start_anew(self) -> None:
        self.close()
        for file in self.folder.iterdir():
            if file.name != LOCK:
                file.unlink()
        self.journal, self._label_ids = Journal(self._source), {}

    def append(self, piece: Piece) -> None:
        """The rows of a piece, and then the journal."""
        done = self.journal
        if piece.Y.shape[0]:
            self._append_features(piece)
            self._append_labels(piece)
            self._append_texts(piece)
            self._append_ids(piece)
            if piece.lines is not None:
                self._put("lines", piece.lines)
        done.n_points += int(piece.Y.shape[0])
        done.at, done.line = done.at + piece.n_bytes, done.line + piece.n_lines
        done.report = {name: done.report.get(name, 0) + count for name, count in piece.report.counts().items()}
        self._commit()

    def widen(self, n_features: int, n_labels: int) -> None:
        """The least numbers of columns."""
        self.journal.n_features = max(self.journal.n_features or 0, n_features)
        self.journal.n_labels = max(self.journal.n_labels, n_labels)

    def give_names(self, named: Dataset) -> None:
        """Names of columns that do not come with the rows."""
        for kind, names in (("label_names", named.label_names), ("feature_names", named.feature_names)):
            if names is not None and not self._length(f"{kind}.offsets"):
                self._put_strings(kind, Strings.of(names))
        self._commit()

    @property
    def n_label_entries(self) -> int:
        return self._length("labels.indices") // 4

    def finish(self, name: str) -> None:
        """The manifest, which makes the folder a packed one."""
        self.close()
        done, entries = self.journal, {}
        for file in sorted(self.folder.iterdir()):
            if file.name in DTYPES:
                entries[file.name] = {"bytes": file.stat().st_size, "sha256": digest_file(file).hexdigest()}
                with file.open("rb") as stream:
                    os.fsync(stream.fileno())
        manifest: dict[str, Any] = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "library_version": __version__,
            "name": name,
            "n_points": done.n_points,
            "n_labels": done.n_labels,
            "n_features": done.n_features,
            "report": done.report,
            "files": entries,
        }
        manifest["checksum"] = digest_json(manifest)
        _write_json(self.folder / MANIFEST, manifest)

    def close(self) -> None:
        for file in self._files.values():
            file.close()
        self._files = {}

    def _append_labels(self, piece: Piece) -> None:
        sizes, columns = np.diff(piece.Y.indptr), piece.Y.indices
        if piece.label_names is None:
            self.journal.n_labels = max(self.journal.n_labels, int(piece.Y.shape[1]))
        else:
            columns = self._global_ids(columns, list(piece.label_names))
            columns = columns[np.lexsort((columns, np.repeat(np.arange(len(sizes)), sizes)))]
            self.journal.n_labels = len(self._label_ids)
        self._put_offsets("labels.indptr", sizes, self.n_label_entries)
        self._put("labels.indices", columns)
        self._put("labels.values", np.ones(len(columns)))

    def _global_ids(self, columns: npt.NDArray[Any], names: list[str]) -> npt.NDArray[Any]:
        """The labels of a piece by their numbers in the whole; new ones get the next numbers."""
        known = len(self._label_ids)
        ids = np.array([self._label_ids.setdefault(name, len(self._label_ids)) for name in names], dtype=np.int64)
        self._put_strings("label_names", Strings.of([names[i] for i in np.flatnonzero(ids >= known)]))
        return np.asarray(ids[columns] if len(columns) else columns)

    def _append_features(self, piece: Piece) -> None:
        is_first = self.journal.n_points == 0
        if (piece.X is None) != (self.journal.n_features is None) and not is_first:
            raise DataError(_MIXED, remedy="give all rows features, or none")
        if piece.X is None:
            return
        self.widen(int(piece.X.shape[1]), 0)
        self._put_offsets("features.indptr", np.diff(piece.X.indptr), self._length("features.indices") // 4)
        self._put("features.indices", piece.X.indices)
        self._put("features.values", piece.X.data)

    def _append_texts(self, piece: Piece) -> None:
        """Rows without a text have an empty one, once any row has a text."""
        before, n = self.journal.n_points, int(piece.Y.shape[0])
        if piece.texts is None and not self._length("texts.offsets"):
            return
        if before and not self._length("texts.offsets"):
            self._put_strings("texts", Strings.empty(before))
        self._put_strings("texts", piece.texts or Strings.empty(n))

    def _append_ids(self, piece: Piece) -> None:
        """Ids are kept once one row has one; rows without get their number, counted from 0."""
        before, n = self.journal.n_points, int(piece.Y.shape[0])
        if piece.ids is None and not self._length("ids.offsets"):
            return
        if before and not self._length("ids.offsets"):
            self._put_strings("ids", Strings.of([str(i) for i in range(before)]))
        numbers = [str(before + i) for i in range(n)]
        if piece.ids is None or piece.own_ids is None:
            self._put_strings("ids", Strings.of(numbers))
        elif piece.own_ids.all():
            self._put_strings("ids", piece.ids)
        else:
            choice = zip(piece.ids.listed(), numbers, piece.own_ids, strict=True)
            self._put_strings("ids", Strings.of([given if own else number for given, number, own in choice]))

    def _put_strings(self, name: str, strings: Strings) -> None:
        self._put_offsets(f"{name}.offsets", strings.sizes, self._length(f"{name}.utf8"))
        self._open(f"{name}.utf8").write(strings.utf8)

    def _put_offsets(self, name: str, sizes: npt.NDArray[Any], before: int) -> None:
        """Where each of these ends, behind `before`; the first time there is a 0 in front."""
        if not self._length(name):
            self._put(name, np.zeros(1))
        self._put(name, before + np.cumsum(sizes, dtype=np.int64))

    def _put(self, name: str, values: npt.NDArray[Any]) -> None:
        self._open(name).write(values.astype(DTYPES[name], copy=False).tobytes())

    def _open(self, name: str) -> BinaryIO:
        if name not in self._files:
            self._files[name] = (self.folder / name).open("ab")
        return self._files[name]

    def _length(self, name: str) -> int:
        file = self._files.get(name)
        if file is not None:
            return file.tell()
        path = self.folder / name
        return path.stat().st_size if path.exists() else 0

    def _commit(self) -> None:
        for file in self._files.values():
            file.flush()
        self.journal.sizes |= {name: file.tell() for name, file in self._files.items()}
        _write_json(self.folder / JOURNAL, asdict(self.journal))

    def _cut_to(self, sizes: dict[str, int]) -> bool:
        """Removes what was appended after the last record of the journal. Returns False if a file is shorter than
        recorded."""
        if any(self._length(name) < size for name, size in sizes.items()):
            return False
        for file in self.folder.iterdir():
            if file.name in DTYPES:
                os.truncate(file, sizes.get(file.name, 0))
        return True


def _read_journal(folder: Path) -> Journal | None:
    try:
        return Journal(**json.loads((folder / JOURNAL).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None


def _write_json(file: Path, value: Any) -> None:
    fresh = file.with_suffix(".new")
    fresh.write_text(json.dumps(value) + "\n", encoding="utf-8")
    fresh.replace(file)
