"""Dense SGD is torch's, but that biases do not decay, and it resumes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from zipfel.errors import ParameterError
from zipfel.run import Run
from zipfel.training import Batches, Plan, Trainer
from zipfel.training.sgd import DenseSgd


def _parameters() -> list[torch.Tensor]:
    draw = torch.Generator().manual_seed(9)
    return [torch.randn(3, 4, generator=draw).requires_grad_(), torch.randn(4, generator=draw).requires_grad_()]


def _set_gradients(parameters: list[torch.Tensor], step: int) -> None:
    draw = torch.Generator().manual_seed(step)
    for parameter in parameters:
        parameter.grad = torch.randn(parameter.shape, generator=draw)


def test_it_steps_as_torch_does() -> None:
    ours, theirs = DenseSgd(_parameters(), momentum=0.9, decay=0.1), _parameters()
    sgd = torch.optim.SGD([{"params": theirs[:1], "weight_decay": 0.1}, {"params": theirs[1:]}], lr=0.05, momentum=0.9)
    for step in range(20):
        _set_gradients(ours.parameters, step)
        ours.step(0.05)
        _set_gradients(theirs, step)
        sgd.step()
    for mine, other in zip(ours.parameters, theirs, strict=True):
        torch.testing.assert_close(mine, other)


def test_state_goes_on_where_it_was() -> None:
    whole, first = DenseSgd(_parameters()), DenseSgd(_parameters())
    for step in range(10):
        for sgd in (whole, first):
            if step == 5 and sgd is first:
                state = {name: tensor.clone() for name, tensor in first.state().items()}
                first.velocity = [torch.zeros_like(v) for v in first.velocity]
                first.restore(state)
            _set_gradients(sgd.parameters, step)
            sgd.step(0.1)
    assert all(torch.equal(a, b) for a, b in zip(whole.parameters, first.parameters, strict=True))


def test_a_parameter_without_a_gradient_stays() -> None:
    sgd = DenseSgd(_parameters())
    before = [p.detach().clone() for p in sgd.parameters]
    sgd.parameters[0].grad = torch.ones(3, 4)
    sgd.step(0.1)
    assert not torch.equal(before[0], sgd.parameters[0])
    assert torch.equal(before[1], sgd.parameters[1])
    assert sgd.parameters[0].grad is None


def test_the_trainer_takes_it_by_name() -> None:
    X = sp.csr_matrix(np.eye(4, dtype=np.float32))
    module = torch.nn.Linear(2, 1, bias=False)
    start = module.weight.detach().clone()
    plan = Plan(epochs=1, lr=0.1, schedule="constant", optimizer="sgd")
    Trainer(Run(), Batches(X, X, size=4, seed=0), lambda batch, rows: module.weight.sum(), plan, module=module).fit()
    torch.testing.assert_close(module.weight.detach(), start - 0.1)
    with pytest.raises(ParameterError, match="adam or sgd"):
        Trainer(Run(), Batches(X, X, size=4, seed=0), lambda batch, rows: module.weight.sum(), Plan(optimizer="rms"))
