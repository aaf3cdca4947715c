"""Packed data: a folder of memory-mapped arrays. `zipfel data pack` makes it, and every command reads it like a file.

    FOLDER/
      manifest.json           sizes, and the bytes and SHA-256 of every other file
      labels.indptr           int64 (n_points + 1,)      labels.indices    int32, sorted in a row
      labels.values           float32 ones
      features.indptr         int64 (n_points + 1,)      features.indices  int32      features.values  float32
      texts.offsets           int64 (n_points + 1,)      texts.utf8        the texts, one behind the other
      ids.*, label_names.*, feature_names.*              as texts.*
      lines                   int64 (n_points,) the line of the source

Files of parts that the data lack are missing. All numbers are little-endian. Opening maps the arrays; memory is taken
by what is touched only, and the system can give it back at any time.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import mmap
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.data.dataset import Dataset, ReadReport
from zipfel.data.plain_rows import MAX_COLUMNS
from zipfel.errors import DataError

MANIFEST = "manifest.json"
FORMAT, FORMAT_VERSION = "zipfel-packed", 1
DTYPES: Mapping[str, str] = {
    "labels.indptr": "<i8",
    "labels.indices": "<i4",
    "labels.values": "<f4",
    "features.indptr": "<i8",
    "features.indices": "<i4",
    "features.values": "<f4",
    "lines": "<i8",
    **{f"{strings}.offsets": "<i8" for strings in ("texts", "ids", "label_names", "feature_names")},
    **{f"{strings}.utf8": "|u1" for strings in ("texts", "ids", "label_names", "feature_names")},
}
"""Every file that a folder may hold besides its manifest, and the type of its numbers."""

_REMEDY = "pack the data again"
_MAX_MANIFEST = 1 << 20
_RUN = 1 << 22
"""Numbers, or bytes of text, that are looked at together."""


def is_packed(path: str | Path) -> bool:
    """Whether path is a folder that `zipfel data pack` made.

    >>> is_packed("train.jsonl")
    False
    """
    return (Path(path) / MANIFEST).is_file()


def open_packed(folder: str | Path) -> Dataset:
    """The data set of a packed folder. Every index is checked; checksums are checked by `check_packed`.

    >>> from tempfile import TemporaryDirectory
    >>> from zipfel.data import pack, synth, write
    >>> with TemporaryDirectory() as folder:
    ...     _ = write(synth(20, 100, 10), f"{folder}/small.txt")
    ...     _ = pack(f"{folder}/small.txt", f"{folder}/packed")
    ...     open_packed(f"{folder}/packed").n_points
    20
    """
    path = Path(folder)
    manifest = read_manifest(path)
    found = _Files(path, manifest["files"])
    n_points, n_labels, n_features = (manifest[key] for key in ("n_points", "n_labels", "n_features"))
    label_names, feature_names = (found.strings(f"{kind}_names") for kind in ("label", "feature"))
    dataset = Dataset(
        Y=found.matrix("labels", n_points, n_labels),
        X=None if n_features is None else found.matrix("features", n_points, n_features),
        texts=found.strings("texts"),
        label_names=None if label_names is None else list(label_names),
        feature_names=None if feature_names is None else list(feature_names),
        ids=found.strings("ids"),
        name=str(manifest["name"]),
        lines=found.array("lines"),
        report=ReadReport(**manifest["report"]),
    )
    if not _are_ones(dataset.Y.data):
        raise DataError("labels.values must be ones", path=path, remedy=_REMEDY)
    return dataset


def check_packed(folder: str | Path) -> Dataset:
    """`open_packed` after comparing the checksum of every file in the folder, which reads all of them.

    >>> from tempfile import TemporaryDirectory
    >>> from zipfel.data import pack, synth, write
    >>> with TemporaryDirectory() as folder:
    ...     _ = write(synth(20, 100, 10), f"{folder}/small.txt")
    ...     _ = pack(f"{folder}/small.txt", f"{folder}/packed")
    ...     check_packed(f"{folder}/packed").n_labels
    10
    """
    path = Path(folder)
    for name, entry in read_manifest(path)["files"].items():
        if digest_file(path / name).hexdigest() != entry["sha256"]:
            raise DataError("was altered after it was packed: its checksum does not match", path=path / name)
    return open_packed(path)


def read_manifest(path: Path) -> dict[str, Any]:
    """manifest.json, checked as far as it can be without the other files."""
    file = path / MANIFEST
    try:
        if file.stat().st_size > _MAX_MANIFEST:
            raise DataError("is larger than any manifest of packed data", path=file)
        manifest = json.loads(file.read_bytes())
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", path=file) from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"is not JSON ({error})", path=file, remedy=_REMEDY) from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise DataError("is not the manifest of packed data", path=file)
    version = manifest.get("format_version")
    if type(version) is not int or version > FORMAT_VERSION:
        raise DataError(
            f"has format version {version!r:.40}; this zipfel reads up to {FORMAT_VERSION}",
            path=file,
            remedy="upgrade with pip install -U zipfel",
        )
    stated = manifest.pop("checksum", None)
    if stated != digest_json(manifest) or not _is_sound(manifest):
        raise DataError("was altered after the data were packed", path=file, remedy=_REMEDY)
    return manifest


class PackedStrings(Sequence[str]):
    """Strings in a file, each read when it is asked for: a list that takes no memory.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "blob").write_bytes(b"onetwo")
    ...     PackedStrings(Path(folder) / "blob", np.array([0, 3, 6]))[-1]
    'two'
    """

    def __init__(self, blob: Path, offsets: npt.NDArray[np.int64]) -> None:
        self._path, self._offsets = blob, offsets
        self._file = blob.open("rb", buffering=0)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            return [self[i] for i in range(*at.indices(len(self)))]
        place = int(at) + (len(self) if at < 0 else 0)
        if not 0 <= place < len(self):
            raise IndexError(f"there are {len(self)} strings, none has number {at}")
        return self._run(place, place + 1)[0]

    def __iter__(self) -> Iterator[str]:
        start = 0
        while start < len(self):
            end = int(np.searchsorted(self._offsets, self._offsets[start] + _RUN, side="right")) - 1
            end = min(max(end, start + 1), len(self))
            yield from self._run(start, end)
            start = end

    def __reduce__(self) -> tuple[Any, ...]:
        return PackedStrings, (self._path, np.asarray(self._offsets))

    def _run(self, start: int, end: int) -> list[str]:
        """Strings start to end, by one read."""
        ends = self._offsets[start : end + 1].tolist()
        block = os.pread(self._file.fileno(), ends[-1] - ends[0], ends[0])
        try:
            return [block[a - ends[0] : b - ends[0]].decode("utf-8") for a, b in itertools.pairwise(ends)]
        except UnicodeDecodeError:
            raise DataError("holds what is not UTF-8", path=self._path, remedy=_REMEDY) from None


class _Files:
    """The files of one folder, whose sizes are what its manifest says."""

    def __init__(self, folder: Path, listed: Mapping[str, Mapping[str, Any]]) -> None:
        self._folder, self._listed = folder, listed
        for name, entry in listed.items():
            file = folder / name
            size = file.stat().st_size if file.is_file() else -1
            if size != entry["bytes"]:
                what = "is missing" if size < 0 else f"has {size:,} bytes, {entry['bytes']:,} were packed"
                raise DataError(what, path=file, remedy=_REMEDY)

    def array(self, name: str) -> npt.NDArray[Any] | None:
        """Mapped privately: what is written to it reaches no file."""
        if name not in self._listed:
            return None
        dtype, size = np.dtype(DTYPES[name]), self._listed[name]["bytes"]
        if size % dtype.itemsize:
            raise DataError(f"has {size:,} bytes, which is no multiple of {dtype.itemsize}", path=self._folder / name)
        if size == 0:
            return np.empty(0, dtype=dtype)
        return np.asarray(np.memmap(self._folder / name, dtype=dtype, mode="c"))

    def needed(self, name: str) -> npt.NDArray[Any]:
        found = self.array(name)
        if found is None:
            raise DataError("is missing", path=self._folder / name, remedy=_REMEDY)
        return found

    def matrix(self, name: str, n_rows: int, width: int) -> sp.csr_matrix:
        indptr, indices, values = (self.needed(f"{name}.{part}") for part in ("indptr", "indices", "values"))
        sound = (
            _are_offsets(indptr, n_rows, len(indices))
            and len(values) == len(indices)
            and _rows_rise(indptr, indices, width)
            and all(bool(np.isfinite(values[a : a + _RUN]).all()) for a in range(0, len(values), _RUN))
        )
        if not sound:
            raise DataError(f"{name} is damaged: its arrays do not fit each other", path=self._folder, remedy=_REMEDY)
        for array in (indices, values):
            release(array)
        matrix = sp.csr_matrix((values, indices, indptr), shape=(n_rows, width), copy=False)
        matrix.has_sorted_indices = matrix.has_canonical_format = True
        return matrix

    def strings(self, name: str) -> PackedStrings | None:
        offsets = self.array(f"{name}.offsets")
        if offsets is None:
            return None
        blob = f"{name}.utf8"
        if blob not in self._listed or not _are_offsets(offsets, len(offsets) - 1, self._listed[blob]["bytes"]):
            raise DataError(f"{name} are damaged: their offsets do not fit", path=self._folder, remedy=_REMEDY)
        return PackedStrings(self._folder / blob, offsets)


def release(array: npt.NDArray[Any]) -> None:
    """Gives back the memory that reading a mapped array took; other arrays stay as they are."""
    mapped: Any = array
    while mapped is not None and not isinstance(mapped, mmap.mmap):
        mapped = getattr(mapped, "base", None)
    if mapped is not None and hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)


def digest_file(file: Path, start: Any = None) -> Any:
    """The running SHA-256 of a file."""
    digest = hashlib.sha256() if start is None else start
    with file.open("rb") as stream:
        while block := stream.read(_RUN):
            digest.update(block)
    return digest


def digest_json(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _is_sound(manifest: Mapping[str, Any]) -> bool:
    """Whether the manifest has what `open_packed` reads, of the right types and within bounds."""
    sizes = [manifest.get("n_points"), manifest.get("n_labels"), manifest.get("n_features")]
    files, report = manifest.get("files"), manifest.get("report")
    return (
        all(type(size) is int and size >= 0 for size in sizes[:2])
        and all(size is None or (type(size) is int and 0 <= size <= MAX_COLUMNS) for size in sizes[1:])
        and isinstance(files, dict)
        and files.keys() <= DTYPES.keys()
        and all(isinstance(entry, dict) and type(entry.get("bytes")) is int for entry in files.values())
        and isinstance(report, dict)
        and report.keys() <= ReadReport.__dataclass_fields__.keys()
        and all(type(count) is int for count in report.values())
    )


def _are_offsets(offsets: npt.NDArray[Any], n: int, total: int) -> bool:
    """n + 1 numbers from 0 to total, none below the one before it."""
    if len(offsets) != n + 1 or offsets[0] != 0 or offsets[-1] != total:
        return False
    runs = range(0, n, _RUN)
    return all(bool((offsets[a + 1 : a + _RUN + 1] >= offsets[a : a + _RUN][: n - a]).all()) for a in runs)


def _rows_rise(indptr: npt.NDArray[Any], indices: npt.NDArray[Any], width: int) -> bool:
    """Whether all indices lie from 0 to width and rise within each row; looked at in runs of rows."""
    start = 0
    while start < len(indptr) - 1:
        end = max(int(np.searchsorted(indptr, indptr[start] + _RUN, side="right")) - 1, start + 1)
        end = min(end, len(indptr) - 1)
        run = indices[indptr[start] : indptr[end]]
        if len(run) and (int(run.min()) < 0 or int(run.max()) >= width):
            return False
        rises = np.diff(run) > 0
        begins = indptr[start + 1 : end] - indptr[start]
        begins = begins[(begins > 0) & (begins < len(run))]
        rises[begins - 1] = True
        if not rises.all():
            return False
        start = end
    return True


def _are_ones(values: npt.NDArray[Any]) -> bool:
    return all(bool((values[a : a + _RUN] == 1).all()) for a in range(0, len(values), _RUN))
