"""Row-wise optimisers: equal to torch's dense ones where all rows are touched, and the kernels equal their twins."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest
import torch

from zipfel.errors import ParameterError
from zipfel.kernels.choice import without_kernels
from zipfel.nn.table import Table, _adagrad_plain, _adam_plain


def _dense(
    optimizer: str, weights: torch.Tensor, decay: float, lr: float
) -> tuple[torch.Tensor, torch.optim.Optimizer]:
    leaf = weights.clone().requires_grad_()
    if optimizer == "adagrad":
        return leaf, torch.optim.Adagrad([leaf], lr=lr, eps=1e-8)
    return leaf, torch.optim.AdamW([leaf], lr=lr, weight_decay=decay)


@pytest.mark.parametrize(("optimizer", "decay"), [("adam", 0.0), ("adam", 0.1), ("adagrad", 0.0)])
def test_equals_the_dense_optimiser_where_every_row_is_touched(optimizer: str, decay: float) -> None:
    start = torch.randn(300, 7, generator=torch.Generator().manual_seed(0))
    table = Table(start.clone(), optimizer=optimizer, decay=decay)
    leaf, dense = _dense(optimizer, start, decay, 0.05)
    goal = torch.randn(300, 7, generator=torch.Generator().manual_seed(1))
    ids = torch.randperm(300, generator=torch.Generator().manual_seed(2))
    for _ in range(20):
        rows = table.rows(ids)
        (rows - goal[ids]).square().sum().backward()
        assert rows.grad is not None
        table.update(ids, rows.grad, 0.05)
        dense.zero_grad()
        (leaf - goal).square().sum().backward()
        dense.step()
    assert torch.allclose(table.weights, leaf, atol=1e-5)


@pytest.mark.parametrize(("optimizer", "plain"), [("adam", _adam_plain), ("adagrad", _adagrad_plain)])
def test_kernel_equals_its_plain_twin_on_sparse_touches(optimizer: str, plain: object) -> None:
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((50, 5)).astype(np.float32)
    fused, twin = (Table(weights.copy(), optimizer=optimizer, rate=0.5, decay=0.01) for _ in range(2))
    for _ in range(12):
        ids = torch.from_numpy(rng.choice(50, size=rng.integers(1, 20), replace=False))
        grad = torch.from_numpy(rng.standard_normal((len(ids), 5)).astype(np.float32))
        fused.update(ids, grad, 0.1)
        plain(twin, ids, grad, (0.1 * 0.5, 0.9, 0.999, 1e-8, 0.01))  # type: ignore[operator]
    for name, tensor in fused.state().items():
        assert torch.allclose(tensor, twin.state()[name], atol=1e-6), name


def test_rows_that_rest_are_not_changed_and_a_rare_row_takes_a_step_of_lr() -> None:
    table = Table.zeros(4, 2)
    for _ in range(100):
        table.update(torch.tensor([0]), torch.ones(1, 2), 0.01)
    table.update(torch.tensor([3]), torch.ones(1, 2), 0.01)
    assert table.weights[1:3].abs().sum() == 0
    assert torch.allclose(table.weights[3], torch.tensor([-0.01, -0.01]), atol=1e-6)


def test_state_survives_a_round_trip() -> None:
    table = Table.normal(6, 3, 0.1, np.random.default_rng(0))
    table.update(torch.tensor([1, 4]), torch.ones(2, 3), 0.1)
    other = Table.zeros(6, 3)
    other.restore({name: tensor.clone() for name, tensor in table.state().items()})
    for each in (table, other):
        each.update(torch.tensor([4]), torch.ones(1, 3), 0.1)
    assert torch.equal(table.weights, other.weights)


def test_unknown_optimiser_is_refused() -> None:
    with pytest.raises(ParameterError, match="adam, adagrad or sgd"):
        Table.zeros(1, 1, optimizer="rmsprop")


@pytest.mark.parametrize("kernels", [True, False])
def test_sgd_is_torchs_dense_one_also_for_rows_that_rest(kernels: bool) -> None:
    """Each step touches few of the rows; a dense optimiser goes on moving the others by momentum and decay."""
    start = torch.randn(30, 5, generator=torch.Generator().manual_seed(0))
    table = Table(start.clone(), optimizer="sgd", momentum=0.9, decay=0.05)
    leaf = start.clone().requires_grad_()
    dense = torch.optim.SGD([leaf], lr=0.02, momentum=0.9, weight_decay=0.05)
    goal = torch.randn(30, 5, generator=torch.Generator().manual_seed(1))
    rng = np.random.default_rng(0)
    with nullcontext() if kernels else without_kernels():
        for _ in range(40):
            ids = torch.from_numpy(rng.choice(30, size=3, replace=False))
            rows = table.rows(ids)
            (rows - goal[ids]).square().sum().backward()
            assert rows.grad is not None
            table.update(ids, rows.grad, 0.02)
            dense.zero_grad()
            (leaf[ids] - goal[ids]).square().sum().backward()
            dense.step()
        table.settle()
    assert torch.allclose(table.weights, leaf, atol=1e-5)


def test_a_step_of_sgd_by_hand() -> None:
    table = Table(torch.tensor([[1.0]]), optimizer="sgd", momentum=0.5, decay=0.1)
    for weight in (1 - 0.1 * 2.1, 1 - 0.1 * 2.1 - 0.1 * (0.5 * 2.1 + 2 + 0.079)):  # v = 2 + 0.1 * 1; 1.05 + 2 + 0.079
        table.rows(torch.tensor([0]))
        table.update(torch.tensor([0]), torch.tensor([[2.0]]), 0.1)
        assert float(table.weights) == pytest.approx(weight)
