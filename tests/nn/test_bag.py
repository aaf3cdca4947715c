"""The bag kernel against torch, by value and by gradient."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from zipfel.kernels.bag import encode_bag
from zipfel.nn.bag import LocalRows, bag, bag_plain
from zipfel.system.threads import use_threads


def _rows(n: int, columns: int, density: float, seed: int) -> sp.csr_matrix:
    return sp.random(n, columns, density, format="csr", dtype=np.float32, rng=np.random.default_rng(seed))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 12), st.integers(1, 30), st.sampled_from([0.0, 0.1, 0.5]), st.integers(0, 99))
def test_local_rows_hold_the_same_matrix(n: int, columns: int, density: float, seed: int) -> None:
    X = _rows(n, columns, density, seed)
    local = LocalRows.from_csr(X)
    assert len(np.unique(local.ids)) == len(local.ids)
    back = sp.csr_matrix((local.values, local.ids.numpy()[local.indices], local.indptr), shape=X.shape)
    turned = sp.csr_matrix((local.by_values, local.by_indices, local.by_indptr), shape=(len(local.ids), n))
    assert np.array_equal(back.toarray(), X.toarray())
    assert np.array_equal(turned.toarray(), X.toarray()[:, local.ids.numpy()].T)


@pytest.mark.parametrize("threads", [1, 2])
def test_bag_equals_its_plain_twin_with_its_gradient(threads: int) -> None:
    X = _rows(400, 90, 0.2, 3)
    X.data[X.indptr[5] : X.indptr[6]] = 0
    rows = LocalRows.from_csr(X)
    weights = torch.randn(len(rows.ids), 8, generator=torch.Generator().manual_seed(0))
    fused, plain = weights.clone().requires_grad_(), weights.clone().requires_grad_()
    with use_threads(threads):
        out = bag(fused, rows)
        out.square().sum().backward()
    twin = bag_plain(plain, rows)
    twin.square().sum().backward()
    assert torch.allclose(out, twin, atol=1e-5)
    assert fused.grad is not None
    assert plain.grad is not None
    assert torch.allclose(fused.grad, plain.grad, atol=1e-4)


def test_mean_divides_by_the_stored_values_and_an_empty_row_is_zero() -> None:
    X = sp.csr_matrix(np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]], dtype=np.float32))
    rows = LocalRows.from_csr(X)
    out = bag(torch.tensor([[2.0], [4.0]]), rows, mode="mean")
    assert out.tolist() == [[3.0], [0.0]]


def test_encoding_whole_rows_equals_the_product() -> None:
    X, table = _rows(60, 40, 0.3, 1), np.random.default_rng(2).standard_normal((40, 6)).astype(np.float32)
    assert np.allclose(encode_bag(X, table), X @ table, atol=1e-5)
