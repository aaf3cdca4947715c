"""Files changed at random: those kept from earlier searches, and some new ones; many more in the slow tier."""

from __future__ import annotations

import sys

import pytest

from tests.fuzz import readers

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")


def test_kept_and_new_files_give_data_or_an_error_in_words() -> None:
    failed, _ = readers.search(5, 200)
    assert failed == []
    assert len(readers.kept()) > 10


@pytest.mark.slow
@pytest.mark.parametrize("seed", [21, 22, 23])
def test_many_files_give_data_or_an_error_in_words(seed: int) -> None:
    assert readers.search(seed, 20_000)[0] == []
