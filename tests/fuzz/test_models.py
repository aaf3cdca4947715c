"""Hostile model folders: those that did harm once, and some new ones; many more in the slow tier."""

from __future__ import annotations

import json
import sys

import pytest

from tests.fuzz import models

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")


def kept() -> list[dict[str, object]]:
    return [json.loads(line) for line in models.CORPUS.read_text().splitlines()]


def test_what_did_harm_once_does_none() -> None:
    assert models.search(kept()) == []


@pytest.mark.parametrize("method", ["knn", "astec-hnsw"])
def test_hostile_models_are_refused_or_answer(method: str) -> None:
    assert models.search(list(models.cases(7, 60, [method]))) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", [11, 12, 13])
def test_many_hostile_models_are_refused_or_answer(seed: int) -> None:
    assert models.search(list(models.cases(seed, 1500, []))) == []
