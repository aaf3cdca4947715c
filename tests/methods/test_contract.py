"""The contract of tests/contract.py, for every method there is."""

from __future__ import annotations

import pytest

from tests.contract import MethodContract
from zipfel.methods import method_names


@pytest.fixture(params=method_names())
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class TestEveryMethod(MethodContract):
    """All checks are inherited."""
