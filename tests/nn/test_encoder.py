"""LightDXML's and Astec's encoders against literal numpy."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from zipfel.nn.encoder import LabelEncoder, ResidualEncoder


def _numbers(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


@pytest.mark.parametrize("relu", [True, False])
def test_label_codes_are_equation_4_in_both_of_its_forms(relu: bool) -> None:
    encoder = LabelEncoder(5, relu=relu, start="random", generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        encoder.inner.bias.copy_(_numbers(5))
        encoder.outer.bias.copy_(_numbers(5) / 2)
        found = encoder(_numbers(7, 5)).numpy()
    W1, b1, W2, b2 = (
        p.detach().numpy() for p in (encoder.inner.weight, encoder.inner.bias, encoder.outer.weight, encoder.outer.bias)
    )
    mu = _numbers(7, 5).numpy()
    two_layers = np.array([W2 @ (W1 @ row + b1) + b2 for row in mu])
    one_layer = mu @ (W2 @ W1).T + (W2 @ b1 + b2)
    for expected in (two_layers, one_layer):
        np.testing.assert_allclose(found, np.maximum(expected, 0) if relu else expected, atol=1e-5)


@pytest.mark.parametrize("relu", [True, False])
def test_points_are_v_and_its_residual_block(relu: bool) -> None:
    encoder = ResidualEncoder(4, 0.0, torch.Generator().manual_seed(0), relu=relu)
    with torch.no_grad():
        encoder.bias.copy_(_numbers(4))
        encoder.residual.bias.copy_(_numbers(4) / 3)
        found = encoder(_numbers(6, 4)).numpy()
    v = _numbers(6, 4).numpy() + encoder.bias.detach().numpy()
    v = np.maximum(v, 0) if relu else v
    R, c = encoder.residual.weight.detach().numpy(), encoder.residual.bias.detach().numpy()
    np.testing.assert_allclose(found, v + np.maximum(v @ R.T + c, 0), atol=1e-5)
