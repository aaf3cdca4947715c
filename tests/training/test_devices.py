"""Training on another device, played on the CPU: plain torch on copies must learn what the kernels learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.contract import known
from tests.training.trainee import train
from zipfel.errors import ParameterError
from zipfel.kernels.choice import without_kernels
from zipfel.methods import make_method
from zipfel.nn.table import Table
from zipfel.run import Run, check_device
from zipfel.training import History, Trainer

VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("lightdxml", {"dim": 16, "epochs": 3, "batch": 16, "shortlist": 3}),
    ("mnn", {"dim": 16, "epochs": 2, "batch": 32}),
    ("mnn", {"dim": 16, "epochs": 2, "batch": 32, "loss": "contrastive"}),
    ("glas", {"dim": 16, "epochs": 2, "batch": 32}),
    ("glas", {"dim": 16, "epochs": 2, "batch": 32, "loss": "mining", "positives": "one", "regularizer": "gravity"}),
    ("dxml", {"hidden": 16, "epochs": 2, "batch": 32, "loss": "smooth_l1"}),
    ("dxml", {"hidden": 16, "epochs": 2, "batch": 32, "loss": "infonce"}),
    ("rankae", {"dim": 16, "hidden": 16, "word_dim": 16, "epochs": 2, "batch": 32, "loss": "bce"}),
    (
        "rankae",
        {"dim": 16, "hidden": 16, "word_dim": 16, "epochs": 2, "batch": 32, "loss": "ranking"},
    ),
    (
        "rankae",
        {"dim": 16, "hidden": 16, "word_dim": 16, "epochs": 2, "batch": 32, "loss": "ranking", "pooling": "mean"},
    ),
]


def _histories(monkeypatch: pytest.MonkeyPatch, name: str, params: dict[str, Any]) -> dict[str, list[dict[str, float]]]:
    """By phase, what each epoch of each training came to."""
    found: dict[str, list[dict[str, float]]] = {}
    fit = Trainer.fit

    def noted(trainer: Trainer) -> History:
        history = fit(trainer)
        told = [{key: value for key, value in epoch.items() if key != "seconds"} for epoch in history.epochs]
        found.setdefault(trainer.name, []).extend(told)
        return history

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "fit", noted)
        make_method(name, params).fit(known().train, known().valid, Run(seed=1, threads=1))
    return found


@pytest.mark.parametrize(("name", "params"), VARIANTS)
def test_every_objective_learns_the_same_without_kernels(
    monkeypatch: pytest.MonkeyPatch, name: str, params: dict[str, Any]
) -> None:
    expected = _histories(monkeypatch, name, params)
    with without_kernels():
        found = _histories(monkeypatch, name, params)
    assert found.keys() == expected.keys() != set()
    for phase, epochs in expected.items():
        for one, other in zip(epochs, found[phase], strict=True):
            assert one == pytest.approx(other, rel=2e-3, abs=1e-5), phase


def test_tables_learn_the_same_elsewhere_and_views_of_them_stay_true() -> None:
    _, expected = train(Run(seed=3, threads=1), epochs=2)
    with without_kernels():
        _, found = train(Run(seed=3, threads=1), epochs=2)
    for name, table in expected.items():
        assert np.allclose(table.numpy(), found[name].numpy(), atol=1e-4), name


def test_a_table_that_comes_home_is_where_it_was() -> None:
    table = Table.zeros(3, 2)
    view = table.numpy()
    table.away(torch.device("cpu"))
    with without_kernels():
        table.update(torch.tensor([1]), torch.ones(1, 2), 0.1)
    assert not view.any()
    table.home()
    assert view[1] == pytest.approx([-0.1, -0.1])
    assert np.shares_memory(view, table.numpy())


def test_a_device_that_is_not_there_or_does_not_exist_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    check_device("cpu")
    for wrong in ("gpu", "cuda:x", "cuda:", "mps:1", "cpu:0", "meta"):
        with pytest.raises(ParameterError, match="cpu, cuda, cuda:N or mps"):
            check_device(wrong)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    with pytest.raises(ParameterError, match="torch sees none"):
        Run(device="cuda")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    check_device("cuda:1")
    with pytest.raises(ParameterError, match="torch sees 2"):
        check_device("cuda:2")
