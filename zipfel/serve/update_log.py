"""The write-ahead log of learned documents: a record is on disk before its request is answered.

A file of lines: a checksum and one JSON record with its number. A record stays until a saved model contains it. The
model's `training["updates"]` is the number of its last record, so each record is learned exactly once.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from zipfel.errors import ModelFileError, ZipfelError


class LogTakenError(ZipfelError):
    """Another process learns for the same model folder."""


@dataclass(frozen=True)
class Record:
    """The documents of one request. number: counts the requests that a model learned from."""

    number: int
    texts: Sequence[str]
    tags: Sequence[Sequence[str]]

    def line(self) -> bytes:
        body = json.dumps({"number": self.number, "texts": list(self.texts), "tags": [list(y) for y in self.tags]})
        return b"%08x %s\n" % (zlib.crc32(body.encode()), body.encode())


def log_path(folder: Path) -> Path:
    """Beside the model folder, which is replaced as a whole whenever the model is saved."""
    place = folder.absolute()
    return place.parent / f"{place.name}.updates"


class UpdateLog:
    """Records that no saved model contains yet. One process at a time has it open."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _lock(self._file, path)
            self.records = self._read()
        except BaseException:
            os.close(self._file)
            raise

    def _read(self) -> list[Record]:
        """All records. A last line that is cut off was never acknowledged: it is removed."""
        data = self.path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            os.ftruncate(self._file, whole)
            os.fsync(self._file)
        os.lseek(self._file, 0, os.SEEK_END)
        return [_record(line, self.path, i) for i, line in enumerate(data[:whole].splitlines(), 1)]

    def append(self, records: Sequence[Record]) -> None:
        """Returns when the records are on disk. If that fails, the file is unchanged."""
        data, size = b"".join(record.line() for record in records), os.fstat(self._file).st_size
        try:
            written = 0
            while written < len(data):
                written += os.write(self._file, data[written:])
            os.fsync(self._file)
        except OSError:
            os.ftruncate(self._file, size)
            os.lseek(self._file, 0, os.SEEK_END)
            raise
        self.records.extend(records)

    def clear(self) -> None:
        """Called when a saved model contains all records; the folder's new name reaches the disk before they go."""
        if not self.records:
            return
        above = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(above)
        finally:
            os.close(above)
        os.ftruncate(self._file, 0)
        os.lseek(self._file, 0, os.SEEK_SET)
        os.fsync(self._file)
        self.records.clear()

    def close(self) -> None:
        os.close(self._file)


def _record(line: bytes, path: Path, number: int) -> Record:
    stated, _, body = line.partition(b" ")
    try:
        if int(stated, 16) != zlib.crc32(body):
            raise ValueError("its checksum does not match")
        found = json.loads(body)
        return Record(int(found["number"]), found["texts"], found["tags"])
    except (ValueError, KeyError, TypeError) as error:
        raise ModelFileError(
            f"{path}:{number}: this record of learned documents is damaged ({error}): move the file away to serve the "
            "model without the documents in it"
        ) from None


def _lock(file: int, path: Path) -> None:
    try:
        import fcntl
    except ImportError:
        return  # not on this system
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise LogTakenError(f"another process learns for this model ({path} is locked)") from None
