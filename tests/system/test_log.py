"""What is logged, and who sees it."""

from __future__ import annotations

import logging

import pytest

from zipfel import Zipfel
from zipfel.errors import ParameterError
from zipfel.system.log import LOGGER, level_wanted, shown

TEXTS, NAMES = ["red bike", "blue boat", "red boat"], [["bike"], ["boat"], ["boat"]]


def test_nothing_is_printed_unless_asked_for(capfd: pytest.CaptureFixture[str]) -> None:
    Zipfel("knn").fit(TEXTS, NAMES)
    assert capfd.readouterr() == ("", "")


def test_verbose_tells_phases_on_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    Zipfel("knn", verbose=1).fit(TEXTS, NAMES)
    told = capfd.readouterr()
    assert "fitting knn to 3 documents with 2 labels" in told.err
    assert "features: " in told.err
    assert "begins" not in told.err
    assert not told.out
    Zipfel("knn", verbose=2).fit(TEXTS, NAMES)
    assert "features begins" in capfd.readouterr().err
    assert not LOGGER.handlers


def test_programs_that_configure_logging_see_the_same(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="zipfel"):
        Zipfel("knn").fit(TEXTS, NAMES)
    assert any(record.getMessage().startswith("index: ") for record in caplog.records)


def test_the_environment_variable(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("ZIPFEL_LOG", "info")
    Zipfel("knn").fit(TEXTS, NAMES)
    assert "INFO features: " in capfd.readouterr().err
    monkeypatch.setenv("ZIPFEL_LOG", "inof")
    with pytest.raises(ParameterError, match="did you mean 'info'"):
        level_wanted()


def test_shown_twice_is_shown_once(capfd: pytest.CaptureFixture[str]) -> None:
    with shown(1), shown(1):
        LOGGER.info("a line")
    assert capfd.readouterr().err.count("a line") == 1
