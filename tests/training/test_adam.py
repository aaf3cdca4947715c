"""Dense Adam is torch's, and resumes."""

from __future__ import annotations

import subprocess
import sys

import torch

from zipfel.training.adam import DenseAdam


def _gradients(step: int) -> list[torch.Tensor]:
    draw = torch.Generator().manual_seed(step)
    return [torch.randn(3, 4, generator=draw), torch.randn(4, generator=draw)]


def _parameters() -> list[torch.Tensor]:
    return [g.clone().requires_grad_() for g in _gradients(99)]


def _step(adam: DenseAdam, steps: range) -> None:
    for step in steps:
        for parameter, grad in zip(adam.parameters, _gradients(step), strict=True):
            parameter.grad = grad
        adam.step(0.01 / (1 + step))


def test_it_steps_as_torch_does() -> None:
    ours, theirs = DenseAdam(_parameters()), _parameters()
    _step(ours, range(20))
    adam = torch.optim.Adam(theirs)
    for step in range(20):
        for parameter, grad in zip(theirs, _gradients(step), strict=True):
            parameter.grad = grad
        adam.param_groups[0]["lr"] = 0.01 / (1 + step)
        adam.step()
    for mine, other in zip(ours.parameters, theirs, strict=True):
        torch.testing.assert_close(mine, other)


def test_state_goes_on_where_it_was() -> None:
    whole, first, second = (DenseAdam(_parameters()) for _ in range(3))
    _step(whole, range(10))
    _step(first, range(4))
    second.restore({name: tensor.clone() for name, tensor in first.state().items()})
    second.parameters = first.parameters
    _step(second, range(4, 10))
    assert all(torch.equal(a, b) for a, b in zip(whole.parameters, second.parameters, strict=True))


def test_a_parameter_without_a_gradient_stays() -> None:
    adam = DenseAdam(_parameters())
    before = [p.detach().clone() for p in adam.parameters]
    adam.parameters[0].grad = torch.ones(3, 4)
    adam.step(0.1)
    assert not torch.equal(before[0], adam.parameters[0])
    assert torch.equal(before[1], adam.parameters[1])
    assert adam.parameters[0].grad is None


def test_training_does_not_load_torchs_compiler() -> None:
    code = (
        "import sys, scipy.sparse as sp, numpy as np, torch; from zipfel.run import Run\n"
        "from zipfel.training import Batches, Plan, Trainer\n"
        "X = sp.csr_matrix(np.eye(4, dtype=np.float32)); module = torch.nn.Linear(2, 1)\n"
        "loss = lambda batch, rows: module(torch.ones(len(batch), 2)).square().sum()\n"
        "Trainer(Run(), Batches(X, X, size=2, seed=0), loss, Plan(epochs=2), module=module).fit()\n"
        "sys.exit('torch._dynamo' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
