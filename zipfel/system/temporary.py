"""Files and folders that are written beside their place and then renamed.

Each has a unique name, and is removed when its work ends, even if the work is stopped."""

from __future__ import annotations

import os
import secrets
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_lock = threading.Lock()
_open: set[Path] = set()


@contextmanager
def scratch_beside(place: Path, suffix: str = "") -> Iterator[Path]:
    """A path beside `place` that no other thread or process will choose; removed at the end, if it is there."""
    path = beside(place, secrets.token_hex(8) + suffix)
    with scratch_file(path):
        yield path


def beside(place: Path, mark: str) -> Path:
    """A hidden path in the same folder; long names are cut, as a file system takes 255 bytes."""
    name = os.fsencode(place.name)[:150].decode(errors="ignore")
    return place.parent / f".{name}.zipfel-{mark}"


@contextmanager
def scratch_file(path: Path) -> Iterator[Path]:
    """A path of the caller's choice that is removed at the end, whatever happens."""
    with _lock:
        _open.add(path)
    try:
        yield path
    finally:
        remove(path)
        with _lock:
            _open.discard(path)


def remove(path: Path) -> None:
    """A file or a whole folder; no error where it is gone, or can't be removed."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
        return
    with suppress(OSError):
        path.unlink(missing_ok=True)


def remove_all() -> None:
    """What is being written at the moment, by any thread: for a process that ends at once."""
    with _lock:
        paths = list(_open)
    for path in paths:
        remove(path)
