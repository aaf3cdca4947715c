"""Trainings that run side by side must not see each other: whichever ends first, the result is the same."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.contract import known
from zipfel.methods import make_method
from zipfel.ranking import Ranking
from zipfel.run import Run
from zipfel.training import History, Trainer

SMALL: dict[str, dict[str, Any]] = {
    "mnn": {"dim": 16, "epochs": 2, "batch": 32},
    "dxml": {"hidden": 16, "epochs": 2, "batch": 32},
    "rankae": {"dim": 16, "hidden": 16, "word_dim": 16, "epochs": 2, "batch": 32},
    "auto": {},
}


def _one_by_one(*works: Callable[[], Any], threads: int | None = None, sharing: bool = False) -> list[Any]:
    return [work() for work in works]


def _last_first(*works: Callable[[], Any], threads: int | None = None, sharing: bool = False) -> list[Any]:
    return [work() for work in reversed(works)][::-1]


def _learnt(
    name: str, at_once: Callable[..., list[Any]], monkeypatch: pytest.MonkeyPatch
) -> tuple[Ranking, dict[str, list[float]]]:
    """What it answers, and the losses of each of its trainings."""
    losses: dict[str, list[float]] = {}
    fit = Trainer.fit

    def noted(trainer: Trainer) -> History:
        history = fit(trainer)
        losses.setdefault(trainer.name, []).extend(epoch["loss"] for epoch in history.epochs)
        return history

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "fit", noted)
        patch.setattr(importlib.import_module(f"zipfel.methods.{name}"), "at_once", at_once)
        method = make_method(name, SMALL[name])
        method.fit(known().train, known().valid, Run(seed=1, threads=1))
    return method.predict(known().train.X, 5), losses


@pytest.mark.parametrize("name", SMALL)
def test_the_order_of_trainings_changes_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    forwards, losses = _learnt(name, _one_by_one, monkeypatch)
    backwards, others = _learnt(name, _last_first, monkeypatch)
    assert np.array_equal(forwards.labels, backwards.labels)
    assert np.array_equal(forwards.scores, backwards.scores)
    assert losses == others
