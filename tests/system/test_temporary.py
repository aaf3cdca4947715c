"""What is written beside its place has a name of its own, and does not stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from zipfel.system.temporary import remove_all, scratch_beside


def test_each_has_a_name_of_its_own(tmp_path: Path) -> None:
    with scratch_beside(tmp_path / "model") as one, scratch_beside(tmp_path / "model") as other:
        assert one != other
        assert one.parent == other.parent == tmp_path


@pytest.mark.parametrize("folder", [True, False])
def test_it_is_removed_whatever_happens(folder: bool, tmp_path: Path) -> None:
    with pytest.raises(KeyError), scratch_beside(tmp_path / "model") as path:  # noqa: PT012
        if folder:
            path.mkdir()
            (path / "file").touch()
        else:
            path.touch()
        raise KeyError
    assert not list(tmp_path.iterdir())


def test_what_was_renamed_stays(tmp_path: Path) -> None:
    with scratch_beside(tmp_path / "model") as path:
        path.touch()
        path.rename(tmp_path / "model")
    assert [p.name for p in tmp_path.iterdir()] == ["model"]


def test_all_at_once(tmp_path: Path) -> None:
    with scratch_beside(tmp_path / "model") as path:
        path.mkdir()
        remove_all()
        assert not path.exists()
