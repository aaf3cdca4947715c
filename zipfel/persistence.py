"""The model folder: config.json, tensors, label names, vectoriser. Data only: nothing in it can run code.

    MODEL/
      config.json           what it is: method, parameters, sizes, metrics; size and checksum of every other file
      tensors.safetensors   the method's arrays
      labels.json           label names, by id            (where the data had names)
      features.json         feature names, by column      (where the data had names)
      vectorizer.json       words and their weights       (where it was trained on texts)

It is written beside its place and renamed, so that a reader sees the old model or the new one, never a half.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfel import __version__
from zipfel.errors import ModelFileError

FORMAT = "zipfel-model"
FORMAT_VERSION = 1
CONFIG, TENSORS = "config.json", "tensors.safetensors"
MAX_CONFIG_BYTES = 64 << 20
_CHUNK = 1 << 20


@dataclass(frozen=True)
class ModelFiles:
    """What a model folder holds, as plain data.

    config: facts for config.json. arrays: for safetensors. documents: further JSON files, e.g. {"labels": [...]}.
    """

    config: Mapping[str, Any]
    arrays: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    documents: Mapping[str, Any] = field(default_factory=dict)


def save_model(folder: str | Path, files: ModelFiles) -> None:
    """Writes the folder whole or not at all; an older model in its place is replaced."""
    target = Path(folder)
    refuse_foreign(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.parent / f".{target.name}.zipfel-tmp-{os.getpid()}"
    shutil.rmtree(fresh, ignore_errors=True)
    try:
        fresh.mkdir()
        _write_files(fresh, files)
        _swap(fresh, target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def load_model(folder: str | Path) -> ModelFiles:
    """Reads and checks the folder; `ModelFileError` says what is wrong with it."""
    path = Path(folder)
    config = read_config(path)
    listed: dict[str, dict[str, Any]] = config["files"]
    for name, entry in listed.items():
        _check_file(path / name, entry)
    arrays = _read_tensors(path / TENSORS) if TENSORS in listed else {}
    documents = {name.removesuffix(".json"): _read_json(path / name) for name in listed if name.endswith(".json")}
    return ModelFiles(config, arrays, documents)


def read_config(folder: str | Path) -> dict[str, Any]:
    """Only config.json, checked: what `zipfel info` shows without loading the model."""
    path = Path(folder)
    if not path.is_dir():
        raise ModelFileError(
            f"{path} is a file, not a model folder"
            if path.exists()
            else f"{path} is not a model folder: there is no such folder (`zipfel fit --out {path}` makes one)"
        )
    if not (path / CONFIG).is_file():
        raise ModelFileError(f"{path} is not a zipfel model: it has no {CONFIG}")
    config = _read_json(path / CONFIG)
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        raise ModelFileError(f"{path} is not a zipfel model: its {CONFIG} does not say so")
    version = config.get("format_version")
    if not isinstance(version, int) or version > FORMAT_VERSION:
        by = config.get("library_version")
        raise ModelFileError(
            f"{path} has model format {version!r}, written by zipfel {by}; this is zipfel {__version__}, which reads "
            f"up to format {FORMAT_VERSION}: upgrade with pip install -U zipfel"
        )
    stated = config.pop("checksum", None)
    if stated != _digest_json(config):
        raise ModelFileError(f"{path / CONFIG} was altered after the model was saved: its checksum does not match")
    _check_listing(path, config.get("files"))
    return config


def folder_size(folder: str | Path) -> int:
    """Bytes of all files of a model."""
    return sum(f.stat().st_size for f in Path(folder).rglob("*") if f.is_file())


def refuse_foreign(target: Path) -> None:
    if target.is_file():
        raise ModelFileError(f"{target} is a file; --out must name a folder")
    if target.is_dir() and any(target.iterdir()) and not (target / CONFIG).is_file():
        raise ModelFileError(f"{target} is a folder that holds something else than a model: choose another name")


def _write_files(folder: Path, files: ModelFiles) -> None:
    if files.arrays:
        from safetensors.numpy import save_file

        save_file({name: np.ascontiguousarray(array) for name, array in files.arrays.items()}, str(folder / TENSORS))
    for name, document in files.documents.items():
        (folder / f"{name}.json").write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
    listed = {
        file.name: {"bytes": file.stat().st_size, "sha256": _digest_file(file)} for file in sorted(folder.iterdir())
    }
    config = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "library_version": __version__,
        **files.config,
        "files": listed,
    }
    config = json.loads(json.dumps(config, default=_plain))  # what a reader will see, e.g. tuples as lists
    config["checksum"] = _digest_json(config)
    (folder / CONFIG).write_text(json.dumps(config, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for file in folder.iterdir():
        with file.open("rb") as stream:
            os.fsync(stream.fileno())


def _plain(value: Any) -> Any:
    """numpy's numbers, e.g. parameters from a grid search, as Python's."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} has no place in a model folder")


def _swap(fresh: Path, target: Path) -> None:
    if not target.exists():
        fresh.rename(target)
        return
    old = target.parent / f".{target.name}.zipfel-tmp-{os.getpid()}-old"
    target.rename(old)
    try:
        fresh.rename(target)
    except OSError:
        old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _check_listing(path: Path, listed: Any) -> None:
    sound = isinstance(listed, dict) and all(
        isinstance(entry, dict) and isinstance(entry.get("bytes"), int) and Path(name).name == name
        for name, entry in listed.items()
    )
    if not sound:
        raise ModelFileError(f"{path / CONFIG} is damaged: its list of files can't be read")


def _check_file(file: Path, entry: Mapping[str, Any]) -> None:
    if not file.is_file():
        raise ModelFileError(f"the model is incomplete: {file} is missing")
    size = file.stat().st_size
    if size != entry["bytes"]:
        word = "truncated" if size < entry["bytes"] else "altered"
        raise ModelFileError(f"{file} is {word}: {size:,} bytes, {entry['bytes']:,} were saved")
    if _digest_file(file) != entry.get("sha256"):
        raise ModelFileError(f"{file} was altered after the model was saved: its checksum does not match")


def _read_json(file: Path) -> Any:
    if file.name == CONFIG and file.stat().st_size > MAX_CONFIG_BYTES:
        raise ModelFileError(f"{file} is larger than any {CONFIG} of ours")
    try:
        return json.loads(file.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{file} is damaged: it is not JSON ({error})") from None


def _read_tensors(file: Path) -> dict[str, npt.NDArray[Any]]:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        return dict(load_file(str(file)))
    except (SafetensorError, ValueError, KeyError) as error:
        raise ModelFileError(f"{file} is damaged: {error}") from None


def _digest_file(file: Path) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


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
