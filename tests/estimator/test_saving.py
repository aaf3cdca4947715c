"""Where a model may be saved, asked before the work; and what happens where it can't be at the end."""

from __future__ import annotations

import errno
import os
import shutil
from collections import namedtuple
from pathlib import Path

import pytest

from zipfel import Zipfel
from zipfel.errors import SaveError
from zipfel.persistence import ModelFiles, check_target, load_model, save_model, save_or_rescue, writing
from zipfel.system.atomic_folders import claimed

FILES = ModelFiles(config={"method": "knn"})
Usage = namedtuple("Usage", "total used free")


def test_a_good_target_is_left_as_it_was(tmp_path: Path) -> None:
    for target in (tmp_path / "model", tmp_path / "new" / "folder" / "model"):
        check_target(target)
    assert not list(tmp_path.iterdir())
    save_model(tmp_path / "model", FILES)
    check_target(tmp_path / "model", needed=10)
    assert load_model(tmp_path / "model").config["method"] == "knn"


def test_a_file_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(SaveError, match="is a file"):
        check_target(tmp_path / "file", force=True)
    with pytest.raises(SaveError, match=r"file is a file, so .*m can't be a folder in it"):
        check_target(tmp_path / "file" / "m")


def test_another_folder_takes_force(tmp_path: Path) -> None:
    work = tmp_path / "thesis"
    work.mkdir()
    (work / "chapter.tex").touch()
    (work / "config.json").write_text('{"architectures": ["BertModel"]}')
    with pytest.raises(SaveError, match="--force"):
        check_target(work)
    with pytest.raises(SaveError, match="--force"):
        save_model(work, FILES)
    assert (work / "chapter.tex").exists()
    check_target(work, force=True)
    save_model(work, FILES, force=True)
    assert load_model(work).config["method"] == "knn"


@pytest.mark.parametrize("place", [".", "..", "~", "/"])
def test_force_does_not_replace_where_one_works_and_lives(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(SaveError, match="choose a folder in it"):
        check_target(Path(place).expanduser(), force=True)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission(tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    with pytest.raises(SaveError, match="permission"):
        check_target(tmp_path / "locked" / "model")


def test_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(10**9, 10**9, 5_000_000))
    check_target(tmp_path / "model", needed=4_000_000)
    with pytest.raises(SaveError, match="9 MB and 5 MB are free"):
        check_target(tmp_path / "model", needed=9_000_000)


def test_a_target_that_another_command_writes(tmp_path: Path) -> None:
    target = tmp_path / "model"
    with claimed(target):
        with pytest.raises(SaveError, match="another command is writing"):
            check_target(target)
        with pytest.raises(SaveError, match="another command is writing"), writing(target):
            pass
        with writing(target, force=True):
            pass
    with writing(target):
        save_model(target, FILES)
    check_target(target)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_full_disk_at_the_end_keeps_the_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import zipfel.persistence

    model = Zipfel("popular").fit(["a cat", "a dog"], [["cat"], ["dog"]])
    full, other = tmp_path / "full", tmp_path / "other"
    full.mkdir()
    other.mkdir()
    monkeypatch.chdir(other)
    write_tensors = zipfel.persistence.write_tensors

    def limited(file: object, *args: object) -> None:
        if full in Path(file._file.name).parents:  # type: ignore[attr-defined]
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write_tensors(file, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(zipfel.persistence, "write_tensors", limited)
    with pytest.raises(SaveError, match=r"No space left on device.*make room") as plain:
        model.save(full / "model")
    assert "instead" not in str(plain.value)
    with pytest.raises(SaveError, match="was saved in") as told:
        save_or_rescue(model.save, full / "model")
    (rescued,) = other.iterdir()
    assert str(rescued) in str(told.value)
    assert Zipfel.load(rescued).predict(["x"]).labels.tolist() == model.predict(["x"]).labels.tolist()
    assert not list(full.iterdir())
