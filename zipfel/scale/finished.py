"""Results of tasks that are finished, in a folder: a run that was killed goes on from them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from zipfel.executor import Arrays, Work
from zipfel.system.temporary import scratch_beside
from zipfel.system.tensors import read_summed, write_summed


class FinishedTasks:
    """A file a task, named by a hash of all that the task depends on.

    folder: None keeps nothing.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)

    def key(self, work: Work, shared: Sequence[Any]) -> str:
        """What all tasks of one call have in common; hashing reads the shared arrays once."""
        if self._folder is None:
            return ""
        digest = hashlib.blake2b(f"{work.__module__}.{work.__qualname__}".encode(), digest_size=16)
        for value in shared:
            _add(digest, value)
        return digest.hexdigest()

    def load(self, key: str, task: tuple[Any, ...]) -> Arrays | None:
        """The result, where the task is finished; a damaged file counts as none."""
        path = self._path(key, task)
        if path is None or not path.exists():
            return None
        try:
            arrays, _ = read_summed(path)
            return tuple(arrays[str(i)] for i in range(len(arrays)))
        except (OSError, ValueError, KeyError):
            return None

    def save(self, key: str, task: tuple[Any, ...], result: Arrays) -> None:
        """Keeps the result, unless the disk is full: then the task is done again where it is needed again."""
        path = self._path(key, task)
        if path is None:
            return
        with suppress(OSError), scratch_beside(path) as fresh:
            write_summed(fresh, {str(i): array for i, array in enumerate(result)})
            fresh.replace(path)

    def _path(self, key: str, task: tuple[Any, ...]) -> Path | None:
        """Tasks may hold arrays, too."""
        if self._folder is None:
            return None
        digest = hashlib.blake2b(key.encode(), digest_size=16)
        for value in task:
            digest.update(
                np.ascontiguousarray(value).data.cast("B")
                if isinstance(value, np.ndarray) and value.size
                else repr(value).encode()
            )
        return self._folder / f"{digest.hexdigest()}.tensors"


def _add(digest: Any, value: Any) -> None:
    if isinstance(value, np.ndarray):
        digest.update(f"{value.dtype}{value.shape}".encode())
        digest.update(np.ascontiguousarray(value).data.cast("B") if value.size else b"")
    else:
        digest.update(repr(value).encode())
