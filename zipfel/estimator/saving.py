"""Checks before a fit that the model can be saved, and keeps it elsewhere if saving fails at the end."""

from __future__ import annotations

import errno
import os
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from zipfel.errors import SaveError
from zipfel.system.atomic_folders import claimed, free_bytes, is_claimed, nearest_folder, real_place
from zipfel.system.temporary import scratch_beside

FORMAT, CONFIG = "zipfel-model", "config.json"


def check_target(folder: str | Path, force: bool = False, *, needed: int = 0) -> None:
    """Whether a model can be saved in `folder`, asked before the work starts; `SaveError` says why not.

    force: replace a folder that holds something else, or that another command is writing. needed: estimated bytes of
    the model.
    """
    target = Path(folder)
    check_replaceable(target, force)
    above = nearest_folder(target)
    if not above.is_dir():
        raise SaveError(f"{above} is a file, so {target} can't be a folder in it: choose another name")
    try:
        with scratch_beside(above / real_place(target).name) as trial:
            trial.mkdir()
            (trial / CONFIG).write_bytes(b"{}")
    except OSError as error:
        raise save_error(target, error) from None
    check_room(target, needed)
    if not force and above == real_place(target).parent and is_claimed(target):
        raise SaveError(f"another command is writing {target}: wait for it, choose another name, or add --force")


@contextmanager
def writing(folder: str | Path, force: bool = False, *, needed: int = 0) -> Iterator[None]:
    """`check_target`, and until the end of the block other commands are told that this one writes the folder."""
    check_target(folder, force, needed=needed)
    with ExitStack() as stack:
        try:
            real_place(Path(folder)).parent.mkdir(parents=True, exist_ok=True)
            mine = stack.enter_context(claimed(Path(folder)))
        except OSError as error:
            raise save_error(Path(folder), error) from None
        if not mine and not force:
            raise SaveError(f"another command is writing {folder}: wait for it, choose another name, or add --force")
        yield


def save_or_rescue(save: Callable[[Path], None], folder: str | Path) -> None:
    """Calls save(folder). If that fails, the result is saved elsewhere, and the error names the place.

    For commands, whose result is lost when they end.
    """
    target = Path(folder)
    try:
        save(target)
    except SaveError as error:
        for place in _places_of_rescue(target):
            try:
                save(place)
            except (SaveError, OSError):
                continue
            raise SaveError(f"{error}. The model was saved in {place} instead: move it from there") from error
        raise


def _places_of_rescue(target: Path) -> Iterator[Path]:
    """Where else a model may fit: beside the first place if only its name is taken, the current, the temporary and the
    home folder."""
    name = f"{target.name}-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
    seen = set()
    for folder in (target.absolute().parent, Path.cwd(), Path(tempfile.gettempdir()), Path.home()):
        if folder.is_dir() and folder not in seen:
            seen.add(folder)
            yield folder / name


def check_replaceable(target: Path, force: bool = False) -> None:
    """Raises where saving a model would destroy something else."""
    if target.is_file():
        raise SaveError(f"{target} is a file; a model is a folder: choose another name")
    place = real_place(target)
    if place.is_dir():
        if not force and any(place.iterdir()) and not _is_model(place):
            raise SaveError(
                f"{target} is a folder that holds something else than a model: choose another name, or add --force to "
                "replace it with all that is in it"
            )
        if os.path.ismount(place):
            raise SaveError(f"{target} is the root of a file system, which can't be replaced: choose a folder in it")
        if place in (Path.cwd().resolve(), *Path.cwd().resolve().parents, Path.home().resolve()):
            raise SaveError(f"{target} is the current folder, one above it or your home: choose a folder in it")


def _is_model(folder: Path) -> bool:
    """Whether the folder says that it is one of ours, damaged or not; another program's may have a config.json, too."""
    try:
        with (folder / CONFIG).open("rb") as file:
            return f'"{FORMAT}"'.encode() in file.read(4096)
    except OSError:
        return False


def check_room(target: Path, needed: int) -> None:
    with suppress(OSError):
        free = free_bytes(target)
        if needed > free:
            raise SaveError(
                f"{target} has no room for the model: it needs about {needed / 1e6:,.0f} MB and "
                f"{free / 1e6:,.0f} MB are free; make room or choose another disk"
            )


def save_error(target: Path, error: OSError) -> SaveError:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    remedy = "make room or choose another disk" if full else "choose another place, or change its permissions"
    return SaveError(f"{target} can't be written ({error.strerror or error}): {remedy}")
