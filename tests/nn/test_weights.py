from __future__ import annotations

import numpy as np
import pytest
import torch

from zipfel.errors import ModelFileError
from zipfel.nn.autoencoder import BatchNorm
from zipfel.nn.weights import read_weights, weights
from zipfel.state import State, under


def test_parameters_and_buffers_come_back() -> None:
    trained, fresh = BatchNorm(3), BatchNorm(3)
    trained(torch.randn(8, 3, generator=torch.Generator().manual_seed(1)))
    assert trained.mean.any()
    read_weights(fresh, State(under("norm", weights(trained))), "norm")
    read_weights(again := BatchNorm(3), State(weights(trained)))
    for name, array in weights(trained).items():
        assert np.array_equal(weights(fresh)[name], array)
        assert np.array_equal(weights(again)[name], array)


@pytest.mark.parametrize("change", [lambda arrays: arrays.pop("mean"), lambda arrays: arrays.update(mean=np.zeros(4))])
def test_a_missing_array_or_another_shape_is_an_error(change) -> None:
    arrays = dict(weights(BatchNorm(3)))
    change(arrays)
    with pytest.raises(ModelFileError, match="mean"):
        read_weights(BatchNorm(3), State(arrays))
