"""GLaS's embedding map: unit length, weight normalisation by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from zipfel.nn.unit import UnitEncoder


def _encoder(**settings: object) -> UnitEncoder:
    return UnitEncoder(2, **{"relu": False, "weight_norm": True, "dropout": 0.0, "length": 3.0, **settings})  # type: ignore[arg-type]


def test_columns_have_one_length_which_is_their_mean_at_first() -> None:
    table = torch.tensor([[3.0, 0.0], [4.0, 1.0]])  # columns of length 5 and 1
    encoder = _encoder()
    encoder.measure(table)
    code = encoder.codes(np.array([[3.0, 2.0]], dtype=np.float32))[0]
    scaled = 3 * np.array([3 / 5, 2 / 1])  # s = 3, the mean length
    assert code.tolist() == pytest.approx((scaled / np.linalg.norm(scaled)).tolist())
    assert float(encoder.length.detach()) == pytest.approx(3.0)
    encoder.measure(10 * table)
    assert float(encoder.log_scale.exp().detach()) == pytest.approx(3.0)  # s is learnt from then on
    assert encoder.inverse.tolist() == pytest.approx([1 / 50, 1 / 10])


def test_relu_and_no_normalisation_of_weights() -> None:
    encoder = _encoder(relu=True, weight_norm=False)
    encoder.measure(torch.ones(3, 2))
    assert encoder.codes(np.array([[2.0, -1.0], [3.0, 4.0]], dtype=np.float32)).tolist() == [
        [1.0, 0.0],
        [pytest.approx(0.6), pytest.approx(0.8)],
    ]
