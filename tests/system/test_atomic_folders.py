"""Folders replaced whole: whatever happens in between, the old one or the new one is there."""

from __future__ import annotations

import multiprocessing
import os
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import zipfel.system.atomic_folders
from zipfel.system.atomic_folders import OpenFolder, claimed, exchange, is_claimed, remove_leftovers, replacing
from zipfel.system.temporary import beside

linux = pytest.mark.skipif(sys.platform != "linux", reason="exchanges names as Linux does")


@pytest.fixture(params=["one step", "two renames"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder's place, on a system that exchanges names in one step, and on one that can't."""
    if request.param == "two renames":
        monkeypatch.setattr(zipfel.system.atomic_folders, "_exchange_call", lambda: None)
    return tmp_path / "place"


def write(place: Path, content: str) -> None:
    with replacing(place) as fresh:
        (fresh / "a").write_text(content)
        (fresh / "b").write_text(content)


def test_a_new_folder_takes_the_place_of_the_old(place: Path) -> None:
    for content in ("one", "two", "three"):
        write(place, content)
        assert (place / "a").read_text() == content
        assert [path.name for path in place.parent.iterdir()] == ["place"]


def test_an_error_leaves_the_old(place: Path) -> None:
    write(place, "old")
    with pytest.raises(KeyError), replacing(place) as fresh:  # noqa: PT012
        (fresh / "a").write_text("half")
        raise KeyError
    assert (place / "a").read_text() == "old"
    assert [path.name for path in place.parent.iterdir()] == ["place"]


def test_a_symbolic_link_stays(place: Path) -> None:
    target, link = place.parent / "far" / "models", place
    write(target, "old")
    link.symlink_to(target)
    write(link, "new")
    assert link.is_symlink()
    assert (target / "a").read_text() == "new"
    dangling = place.parent / "dangling"
    dangling.symlink_to(place.parent / "nowhere" / "yet")
    write(dangling, "first")
    assert (place.parent / "nowhere" / "yet" / "a").read_text() == "first"


def test_a_reader_keeps_its_version(place: Path) -> None:
    write(place, "old")
    with OpenFolder(place) as version, version.open("a") as file:
        write(place, "new")
        assert file.read() == b"old"
        assert version.was_replaced()
        with pytest.raises(FileNotFoundError):
            version.open("b")
    with OpenFolder(place) as version:
        assert not version.was_replaced()
        with version.open("b") as file:
            assert file.read() == b"new"


def test_pipes_and_folders_are_no_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    with OpenFolder(tmp_path) as version:
        for name in ("pipe", "folder", "nothing"):
            with pytest.raises(FileNotFoundError):
                version.open(name)


def test_many_threads_may_write_one_place(place: Path) -> None:
    def work(number: int) -> None:
        for i in range(10):
            write(place, f"{number} {i}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert (place / "a").read_text() == (place / "b").read_text()
    assert [path.name for path in place.parent.iterdir()] == ["place"]


@linux
def test_exchange(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "one" / "file").touch()
    assert exchange(tmp_path / "one", tmp_path / "other")
    assert (tmp_path / "other" / "file").exists()
    with pytest.raises(FileNotFoundError):
        exchange(tmp_path / "one", tmp_path / "third")


@linux
def test_files_follow_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write(tmp_path / "place", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "place").stat().st_mode) == 0o750
    assert stat.S_IMODE((tmp_path / "place" / "a").stat().st_mode) == 0o640


def _told(target: Path, answer: multiprocessing.Queue[bool]) -> None:
    answer.put(is_claimed(target))


def test_one_command_claims_a_target(tmp_path: Path) -> None:
    target = tmp_path / "model"
    context = multiprocessing.get_context("spawn")
    answer: multiprocessing.Queue[bool] = context.Queue()
    with claimed(target) as mine:
        assert mine
        assert is_claimed(target)
        other = context.Process(target=_told, args=(target, answer))
        other.start()
        assert answer.get(timeout=60)
        other.join()
    assert not is_claimed(target)
    assert not list(tmp_path.iterdir())


def test_what_a_killed_writer_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    place = tmp_path / "model"
    dead, young, other = (beside(place, "0" * 16), beside(place, "1" * 16), beside(tmp_path / "model2", "0" * 16))
    for path in (dead, young, other):
        path.mkdir()
    for path in (dead, other):
        os.utime(path, (0, 0))
    remove_leftovers(place)
    assert [dead.exists(), young.exists(), other.exists()] == [False, True, True]
    with replacing(place) as fresh:
        os.utime(fresh, (0, 0))
        remove_leftovers(place)  # as another process would: this writer lives
        assert fresh.exists()
