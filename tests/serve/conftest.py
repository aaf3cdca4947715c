"""Fixtures of the service's tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")

from starlette.testclient import TestClient

from tests.serve.serving import LABELS, TEXTS, client_of, loaded
from zipfel import Zipfel
from zipfel.serve.core import Service


@pytest.fixture(scope="session")
def model() -> Zipfel:
    return Zipfel(method="knn").fit(TEXTS, LABELS)


@pytest.fixture
def folder(model: Zipfel, tmp_path: Path) -> Path:
    model.save(tmp_path / "things")
    return tmp_path / "things"


@pytest.fixture
def service(folder: Path) -> Iterator[Service]:
    service = loaded(folder)
    yield service
    service.close()


@pytest.fixture
def client(service: Service) -> TestClient:
    return client_of(service)
