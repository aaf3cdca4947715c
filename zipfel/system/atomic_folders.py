"""Folders that are replaced whole: a reader sees the old folder or the new one, whatever happens in between."""

from __future__ import annotations

import ctypes
import errno
import glob
import os
import shutil
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import BinaryIO

from zipfel.system.temporary import beside, remove, scratch_beside, scratch_file

_TRIES, _PAUSE = 50, 0.02
_LEFT_AFTER = 60.0
"""Seconds after which a folder that no process has locked counts as left over."""
_UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP}
_swapping = threading.Lock()


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A new, empty folder beside `target`, which takes its place when the block ends without an error.

    A symbolic link stays: what it points to is replaced. Everything is on the disk before the folder is put in place.
    """
    place = real_place(target)
    place.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(place)
    with scratch_beside(place) as fresh:
        fresh.mkdir()
        with _locked_folder(fresh):
            yield fresh
        for file in fresh.iterdir():
            sync(file)
        sync(fresh)
        put_in_place(fresh, place)
        sync(place.parent)


def remove_leftovers(place: Path) -> None:
    """Removes what processes that were killed while they wrote `place` have left beside it."""
    for path in place.parent.glob(glob.escape(beside(place, "").name) + "[0-9a-f]" * 16):
        with suppress(OSError), _locked_folder(path) as mine:
            if mine and path.stat().st_mtime < time.time() - _LEFT_AFTER:
                remove(path)


@contextmanager
def _locked_folder(path: Path) -> Iterator[bool]:
    """A writer locks its folder for as long as it lives; False where another process has."""
    if sys.platform == "win32":
        yield False
        return
    import fcntl

    number = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
            mine = True
        except OSError:
            mine = False
        yield mine
    finally:
        os.close(number)


def real_place(target: Path) -> Path:
    """Where a path leads, links followed; the path itself where there is nothing yet."""
    return Path(os.path.realpath(target))


def put_in_place(fresh: Path, place: Path) -> None:
    """`fresh` gets the name `place`; what had that name gets the name `fresh`, or is removed."""
    for _ in range(_TRIES):
        if _take_free_name(fresh, place):
            return
        with suppress(FileNotFoundError):  # another process has removed it meanwhile
            if exchange(fresh, place) or _rename_twice(fresh, place):
                return
    raise OSError(errno.EBUSY, "others replace it all the time", str(place))


def _take_free_name(fresh: Path, place: Path) -> bool:
    """Renames where nothing, or only an empty folder, has the name."""
    try:
        fresh.rename(place)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.EACCES if os.name == "nt" else errno.EEXIST):
            raise
        return False
    return True


def _rename_twice(fresh: Path, place: Path) -> bool:
    """For systems that can't exchange two names: for a moment there is no folder; `OpenFolder` waits for it. False
    where another process took the name in that moment."""
    with _swapping, scratch_beside(place) as old:
        place.rename(old)
        try:
            return _take_free_name(fresh, place)
        except OSError:
            old.rename(place)
            raise


def exchange(one: Path, other: Path) -> bool:
    """Exchanges two names in one step. Returns False if the operating system or the file system cannot."""
    call = _exchange_call()
    if call is None:
        return False
    if call(os.fsencode(one), os.fsencode(other)) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), str(one), None, str(other))


@cache
def _exchange_call() -> Callable[[bytes, bytes], int] | None:
    """Linux has renameat2 with RENAME_EXCHANGE (2), macOS renamex_np with RENAME_SWAP (2)."""
    try:
        library = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "darwin":
            swap = library.renamex_np
            return lambda one, other: int(swap(one, other, ctypes.c_uint(2)))
        rename, here = library.renameat2, -100  # AT_FDCWD
        return lambda one, other: int(rename(here, one, here, other, ctypes.c_uint(2)))
    except (AttributeError, OSError, TypeError):
        return None


def sync(path: Path) -> None:
    """Waits until a file's or a folder's content is on the disk."""
    flags = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) if path.is_dir() else os.O_RDONLY
    if path.is_dir() and not hasattr(os, "O_DIRECTORY"):
        return  # Windows can't
    number = os.open(path, flags)
    try:
        os.fsync(number)
    except OSError as error:
        if not path.is_dir() or error.errno not in _UNSUPPORTED:  # some file systems can't sync folders
            raise
    finally:
        os.close(number)


class OpenFolder:
    """One version of a folder: files opened from it belong together, even if another folder takes its place.

    Opened files stay readable when the folder is replaced. A file that is opened later may be missing. `was_replaced`
    tells whether the folder was replaced; the caller can then try again.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._number: int | None = None
        if os.open in os.supports_dir_fd and hasattr(os, "O_DIRECTORY"):
            self._number = _patiently(lambda: os.open(path, os.O_RDONLY | os.O_DIRECTORY), path)

    def __enter__(self) -> OpenFolder:
        return self

    def __exit__(self, *error: object) -> None:
        if self._number is not None:
            os.close(self._number)

    def open(self, name: str) -> BinaryIO:
        """A file of the folder; FileNotFoundError where there is none, or it is no regular file."""
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)  # a pipe would block
        place = self.path / name if self._number is None else Path(name)
        number = os.open(place, flags, dir_fd=self._number)
        if not stat.S_ISREG(os.fstat(number).st_mode):
            os.close(number)
            raise FileNotFoundError(errno.ENOENT, "not a regular file", str(self.path / name))
        return os.fdopen(number, "rb")

    def was_replaced(self) -> bool:
        """Whether the path leads to another folder by now, or to none."""
        if self._number is None:
            return False
        try:
            return not os.path.samestat(self.path.stat(), os.fstat(self._number))
        except FileNotFoundError:
            return True


def _patiently(call: Callable[[], int], path: Path) -> int:
    """Where names can't be exchanged in one step, a folder that is being replaced is missing for a moment."""
    for _ in range(_TRIES):
        if path.exists() or _exchange_call() is not None or not any(path.parent.glob(beside(path, "*").name)):
            break
        time.sleep(_PAUSE)
    return call()


@contextmanager
def claimed(target: Path) -> Iterator[bool]:
    """Inside, no other process gets True for the same target; False where another has it already.

    The claim is a lock on a file beside the target. It ends with the process, however that ends.
    """
    path = beside(real_place(target), "claim")
    number = _locked(path)
    if number is None:
        yield False
        return
    try:
        with scratch_file(path):
            yield True
    finally:
        os.close(number)  # only after the file is gone: else another could lock a file that is about to go


def is_claimed(target: Path) -> bool:
    """Whether another command is writing the target."""
    with claimed(target) as mine:
        return not mine


def _locked(path: Path) -> int | None:
    """The number of an open file that this process has locked; None where another has."""
    try:
        import fcntl
    except ImportError:  # Windows
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    for _ in range(_TRIES):
        number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(number)
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                return None
            return os.open(os.devnull, os.O_RDWR)  # the file system has no locks: nothing can be claimed there
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(number), path.stat()):
                return number
        os.close(number)  # the one before removed the file between our opening and our locking
    return None


def nearest_folder(path: Path) -> Path:
    """The innermost existing folder above a path."""
    place = real_place(path).parent
    while not place.exists() and place != place.parent:
        place = place.parent
    return place


def free_bytes(path: Path) -> int:
    """Space that is left where `path` is to be written."""
    return shutil.disk_usage(nearest_folder(path)).free
