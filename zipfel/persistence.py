"""The model folder: config.json, tensors, label names, vectoriser. Data only: nothing in it can run code.

    MODEL/
      config.json           what it is: method, parameters, sizes, metrics; size and checksum of every other file
      tensors.safetensors   the method's arrays
      labels.json           label names, by id            (where the data had names)
      features.json         feature names, by column      (where the data had names)
      vectorizer.json       words and their weights       (where it was trained on texts)

A model is written beside its place and put there in one step: a reader sees the old model or the new one.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
import numpy.typing as npt

from zipfel import __version__
from zipfel.errors import ModelFileError
from zipfel.estimator.saving import (
    CONFIG,
    FORMAT,
    check_replaceable,
    check_room,
    check_target,
    save_error,
    save_or_rescue,
    writing,
)
from zipfel.system.atomic_folders import OpenFolder, replacing
from zipfel.system.tensors import Arrays, map_tensors, read_tensors, write_tensors

__all__ = [
    "ModelFiles", "arrays_within", "check_kept", "check_target", "folder_size", "load_model", "read_config",
    "read_names", "save_model", "save_or_rescue", "writing",
]  # fmt: skip

T = TypeVar("T")
FORMAT_VERSION = 1
TENSORS = "tensors.safetensors"
MAX_CONFIG_BYTES = 64 << 20
MAPPED_FROM = 256 << 20
"""Bytes of arrays from which on a model is mapped into memory: comparing their checksum would take longer than the rest
of loading."""
_CHUNK = 1 << 20
_TRIES = 20
"""How often a folder that is replaced while it is read is read again."""


@dataclass(frozen=True)
class ModelFiles:
    """What a model folder holds, as plain data.

    config: facts for config.json. arrays: for safetensors. documents: further JSON files, e.g. {"labels": [...]}.
    """

    config: Mapping[str, Any]
    arrays: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    documents: Mapping[str, Any] = field(default_factory=dict)


def save_model(folder: str | Path, files: ModelFiles, force: bool = False) -> None:
    """Writes the folder whole or not at all; an older model in its place is replaced in one step.

    A model in the folder stays as it is until the new one is complete. `SaveError` says why it can't be written.
    """
    target = Path(folder)
    check_replaceable(target, force)
    check_room(target, sum(array.nbytes for array in files.arrays.values()))
    try:
        with replacing(target) as fresh:
            _write_files(fresh, files)
    except OSError as error:
        raise save_error(target, error) from error


def load_model(folder: str | Path, verify: bool | None = None) -> ModelFiles:
    """Reads and checks the folder; `ModelFileError` says what is wrong with it.

    All files come from one version of the folder, even if another process saves a model there at the same time.
    verify: whether the checksum of the arrays is compared. By default it is, unless there are more than `MAPPED_FROM`
    bytes of them: these are mapped into memory, and pages are read when they are needed. The structure of the file and
    all other checksums are checked in any case.
    """
    return _read_version(Path(folder), partial(_read_model, verify=verify))


def read_config(folder: str | Path) -> dict[str, Any]:
    """Only config.json, checked: what `zipfel info` shows without loading the model."""
    return _read_version(Path(folder), _read_config)


def _read_version(path: Path, read: Callable[[OpenFolder], T]) -> T:
    """What `read` returns for one version of the folder: it begins again where that was replaced meanwhile."""
    for _ in range(_TRIES):
        _check_is_folder(path)
        with OpenFolder(path) as version:
            try:
                return read(version)
            except ModelFileError:
                if not version.was_replaced():
                    raise
    raise ModelFileError(f"{path} is being replaced all the time; load it when no other program writes it")


def folder_size(folder: str | Path) -> int:
    """Bytes of all files of a model."""
    return sum(f.stat().st_size for f in Path(folder).rglob("*") if f.is_file())


def _check_is_folder(path: Path) -> None:
    if not path.is_dir():
        raise ModelFileError(
            f"{path} is a file, not a model folder"
            if path.exists()
            else f"{path} is not a model folder: there is no such folder (`zipfel fit --out {path}` makes one)"
        )


def _read_model(version: OpenFolder, verify: bool | None) -> ModelFiles:
    """All listed files are opened before the first is read: they stay readable when the folder is replaced."""
    config = _read_config(version)
    listed: dict[str, dict[str, Any]] = config["files"]
    with ExitStack() as stack:
        opened = {name: stack.enter_context(_open_listed(version, name)) for name in listed}
        for name, entry in listed.items():
            _check_size(version.path / name, opened[name], entry)
        arrays, texts = {}, {}
        for name, entry in listed.items():
            checked, is_mapped = _Digesting(opened[name]), name == TENSORS and _is_mapped(entry["bytes"], verify)
            if is_mapped:
                arrays = _tensors(version.path / name, map_tensors, opened[name], entry["bytes"])
            elif name == TENSORS:
                arrays = _tensors(version.path / name, _read_arrays, checked, entry["bytes"])
            elif name.endswith(".json"):
                texts[name] = checked.read()
            if not is_mapped:
                _check_digest(version.path / name, checked, entry)
    documents = {name.removesuffix(".json"): _parsed(version.path / name, text) for name, text in texts.items()}
    return ModelFiles(config, arrays, documents)


def _read_config(version: OpenFolder) -> dict[str, Any]:
    path = version.path
    try:
        with version.open(CONFIG) as file:
            text = file.read(MAX_CONFIG_BYTES + 1)
    except FileNotFoundError:
        raise ModelFileError(f"{path} is not a zipfel model: it has no {CONFIG}") from None
    if len(text) > MAX_CONFIG_BYTES:
        raise ModelFileError(f"{path / CONFIG} is larger than any {CONFIG} of ours")
    config = _parsed(path / CONFIG, text)
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        raise ModelFileError(f"{path} is not a zipfel model: its {CONFIG} does not say so")
    number, by = config.get("format_version"), config.get("library_version")
    if not isinstance(number, int) or number > FORMAT_VERSION:
        raise ModelFileError(
            f"{path} has model format {number!r}, written by zipfel {by}; this is zipfel {__version__}, which reads up "
            f"to format {FORMAT_VERSION}: upgrade with pip install -U zipfel"
        )
    stated = config.pop("checksum", None)
    if stated != _digest_json(config):
        raise ModelFileError(f"{path / CONFIG} was altered after the model was saved: its checksum does not match")
    _check_listing(path, config.get("files"))
    return config


def _write_files(folder: Path, files: ModelFiles) -> None:
    listed = {}
    if files.arrays:
        with _Digesting.created(folder / TENSORS) as file:
            write_tensors(file, files.arrays)
        listed[TENSORS] = file.entry()
    for name, document in files.documents.items():
        with _Digesting.created(folder / f"{name}.json") as file:
            file.write(json.dumps(document, ensure_ascii=False).encode())
        listed[f"{name}.json"] = file.entry()
    config = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "library_version": __version__,
        **files.config,
        "files": dict(sorted(listed.items())),
    }
    config = json.loads(json.dumps(config, default=_plain))  # what a reader will see, e.g. tuples as lists
    config["checksum"] = _digest_json(config)
    (folder / CONFIG).write_text(json.dumps(config, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


class _Digesting:
    """An open file, and the checksum of what was read from it or written to it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._digest, self._size = file, hashlib.sha256(), 0

    @classmethod
    @contextmanager
    def created(cls, path: Path) -> Iterator[_Digesting]:
        with path.open("xb") as file:
            yield cls(file)

    def write(self, data: Any, /) -> int:
        self._digest.update(data)
        self._size += len(data)
        return self._file.write(data)

    def read(self, size: int = -1, /) -> bytes:
        data = self._file.read(size)
        self._digest.update(data)
        self._size += len(data)
        return data

    def readinto(self, buffer: Any, /) -> int:
        count: int = self._file.readinto(buffer)  # type: ignore[attr-defined]
        self._digest.update(buffer[:count])
        self._size += count
        return count

    def entry(self) -> dict[str, Any]:
        return {"bytes": self._size, "sha256": self._digest.hexdigest()}


def _plain(value: Any) -> Any:
    """numpy's numbers, e.g. parameters from a grid search, as Python's."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} has no place in a model folder")


def _check_listing(path: Path, listed: Any) -> None:
    sound = isinstance(listed, dict) and all(
        isinstance(entry, dict) and isinstance(entry.get("bytes"), int) and Path(name).name == name
        for name, entry in listed.items()
    )
    if not sound:
        raise ModelFileError(f"{path / CONFIG} is damaged: its list of files can't be read")


def _open_listed(version: OpenFolder, name: str) -> BinaryIO:
    try:
        return version.open(name)
    except FileNotFoundError:
        raise ModelFileError(f"the model is incomplete: {version.path / name} is missing") from None


def _check_size(path: Path, file: BinaryIO, entry: Mapping[str, Any]) -> None:
    size = os.fstat(file.fileno()).st_size
    if size != entry["bytes"]:
        word = "truncated" if size < entry["bytes"] else "altered"
        raise ModelFileError(f"{path} is {word}: {size:,} bytes, {entry['bytes']:,} were saved")


def _check_digest(path: Path, file: _Digesting, entry: Mapping[str, Any]) -> None:
    while file.read(_CHUNK):
        pass
    if file.entry()["sha256"] != entry.get("sha256"):
        raise ModelFileError(f"{path} was altered after the model was saved: its checksum does not match")


def _parsed(path: Path, text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{path} is damaged: it is not JSON ({error})") from None


def _is_mapped(size: int, verify: bool | None) -> bool:
    """Windows can't replace a folder whose files are mapped."""
    return os.name != "nt" and not verify and (size > MAPPED_FROM or verify is False) and size > 0


def _read_arrays(file: _Digesting, size: int) -> Arrays:
    return read_tensors(file, size)[0]


def _tensors(path: Path, read: Callable[[Any, int], Arrays], file: Any, size: int) -> Arrays:
    try:
        return read(file, size)
    except ValueError as error:
        raise ModelFileError(f"{path} is damaged: {error}") from None


def _digest_json(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def read_names(documents: Mapping[str, Any], key: str, size: int) -> list[str] | None:
    """Names from a JSON document, checked: `size` different or equal strings, nothing else."""
    if key not in documents:
        return None
    names = documents[key]
    if not isinstance(names, list) or len(names) != size or not all(isinstance(name, str) for name in names):
        raise ModelFileError(f"{key}.json of the model is damaged: it must be a list of {size} names")
    return names


def check_kept(threads: Any, n_points: Any) -> None:
    """What a model folder says besides the method's own state, as far as answering needs it."""
    if threads is not None and (type(threads) is not int or not 0 < threads <= 1024):
        raise ModelFileError(f"the model's threads must be a number from 1 to 1024, got {threads!r:.60}")
    if type(n_points) is not int or n_points < 1:
        raise ModelFileError(f"the model's n_points must be a number from 1 on, got {n_points!r:.60}")


def arrays_within(prefix: str, arrays: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    """The arrays whose names begin with the prefix, without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
