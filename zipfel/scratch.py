"""Files and folders that are being written beside their place: each has a name of its own, and none outlives the work
that made it, even where the work is stopped in the midst of it."""

from __future__ import annotations

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
    path = place.parent / f".{place.name[:100]}.zipfel-{secrets.token_hex(8)}{suffix}"
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
