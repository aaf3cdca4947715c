"""The write-ahead log: what is appended is on disk, what was cut off is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from zipfel.errors import ModelFileError
from zipfel.serve.update_log import LogTakenError, Record, UpdateLog

ONE = Record(1, ["a bike"], [["bike"]])
TWO = Record(2, ["ein Füllfeder\n", "b"], [["pen", "<x>"], ["boat"]])


def records(path: Path) -> list[Record]:
    log = UpdateLog(path)
    log.close()
    return log.records


def test_records_come_back_in_their_order(tmp_path: Path) -> None:
    log = UpdateLog(tmp_path / "log")
    log.append([ONE])
    log.append([TWO])
    log.close()
    assert records(tmp_path / "log") == [ONE, TWO]
    log = UpdateLog(tmp_path / "log")
    log.clear()
    log.append([TWO])
    log.close()
    assert records(tmp_path / "log") == [TWO]


@pytest.mark.parametrize("cut", [1, 5, 40])
def test_a_record_that_is_cut_off_is_removed(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "log"
    path.write_bytes(ONE.line() + TWO.line()[:-cut])
    assert records(path) == [ONE]
    assert path.read_bytes() == ONE.line()


def test_a_damaged_record_is_named(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(ONE.line().replace(b"bike", b"bake") + TWO.line())
    with pytest.raises(ModelFileError, match=r"log:1: .*checksum"):
        UpdateLog(path)
    assert path.stat().st_size > 0


def test_one_process_at_a_time_learns(tmp_path: Path) -> None:
    log = UpdateLog(tmp_path / "log")
    with pytest.raises(LogTakenError):
        UpdateLog(tmp_path / "log")
    log.close()
    UpdateLog(tmp_path / "log").close()
