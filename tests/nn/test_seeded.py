from __future__ import annotations

import torch
from torch import nn

from zipfel.nn.seeded import Dropout, linear


def _seeded(seed: int = 3) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_first_weights_are_those_of_torch_and_leave_its_generator_alone() -> None:
    torch.manual_seed(3)
    theirs = nn.Linear(7, 5)
    state = torch.get_rng_state()
    ours = linear(7, 5, _seeded())
    assert torch.equal(ours.weight, theirs.weight)
    assert torch.equal(ours.bias, theirs.bias)
    assert torch.equal(torch.get_rng_state(), state)
    assert linear(7, 5, _seeded(), bias=False).bias is None


def test_dropout_draws_from_its_own_generator() -> None:
    layer, inputs = Dropout(0.25), torch.ones(1000)
    layer.generator = _seeded()
    state = torch.get_rng_state()
    first, second = layer(inputs), layer(inputs)
    assert torch.equal(torch.get_rng_state(), state)
    assert set(first.tolist()) == {0.0, float(torch.tensor(1.0).div(0.75))}
    assert abs(float(first.mean()) - 1) < 0.1
    assert not torch.equal(first, second)
    layer.generator = _seeded()
    torch.rand(5)
    assert torch.equal(layer(inputs), first)


def test_dropout_leaves_prediction_alone() -> None:
    inputs = torch.ones(10)
    assert torch.equal(Dropout(0.0)(inputs), inputs)
    assert torch.equal(Dropout(0.9).eval()(inputs), inputs)
