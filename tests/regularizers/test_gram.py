"""Each regulariser equals the (b, b) matrix of the paper that it never builds."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch.nn.functional import normalize

from zipfel.regularizers.affinity import label_affinity
from zipfel.regularizers.gram import glas, gravity, spread_out, submatrix


def vectors(b: int, d: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return normalize(torch.randn(b, d, dtype=torch.double, generator=generator), dim=1)


def some_affinity(n_labels: int) -> sp.csr_matrix:
    rng = np.random.default_rng(3)
    return label_affinity(sp.csr_matrix((rng.random((30, n_labels)) < 0.2).astype(np.float32)))


def test_glas_by_hand() -> None:
    V = torch.tensor([[1.0, 0.0], [0.6, 0.8]])
    U = submatrix(sp.csr_matrix(np.array([[1, 0.5], [0.5, 1]], dtype=np.float32)), np.array([0, 1]))
    assert glas(V, U).item() == pytest.approx(2 * 0.1**2 / 4, rel=1e-4)


def test_spread_out_by_hand() -> None:
    V = torch.tensor([[1.0, 0.0], [0.6, 0.8]])
    assert spread_out(V).item() == pytest.approx((2 + 2 * 0.36) / 4)


def test_gravity_by_hand() -> None:
    codes, V = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.5, 0.5], [0.0, 1.0]])
    assert gravity(codes, V).item() == pytest.approx(0.25 / 2)


@pytest.mark.parametrize(("b", "d"), [(7, 3), (3, 7)])
def test_glas_equals_the_matrix_of_equation_3(b: int, d: int) -> None:
    affinity, labels = some_affinity(12), np.random.default_rng(1).permutation(12)[:b]
    V = vectors(b, d)
    dense = torch.from_numpy(affinity.toarray()[np.ix_(labels, labels)]).double()
    expected = ((V @ V.T - dense) ** 2).sum() / b**2
    assert glas(V, submatrix(affinity, labels, torch.double)).item() == pytest.approx(expected.item())


def test_without_co_occurrence_glas_is_spread_out_but_for_a_constant() -> None:
    alone = submatrix(sp.identity(6, dtype=np.float32, format="csr"), np.arange(6), torch.double)
    for seed in (0, 1):
        V = vectors(6, 4, seed)
        assert (spread_out(V) - glas(V, alone)).item() == pytest.approx(6 / 36)


def test_gravity_equals_the_mean_over_pairs() -> None:
    codes, V = vectors(5, 4), vectors(7, 4, 1)
    assert gravity(codes, V).item() == pytest.approx((codes @ V.T).square().mean().item())


def test_a_label_that_was_drawn_twice_counts_as_two() -> None:
    affinity, drawn = some_affinity(9), np.array([4, 1, 4, 7, 1, 4])
    distinct, place, counts = np.unique(drawn, return_inverse=True, return_counts=True)
    V, codes, times = vectors(3, 5), vectors(4, 5, 1), torch.from_numpy(counts).double()
    dense = torch.from_numpy(affinity.toarray()[np.ix_(drawn, drawn)]).double()
    repeated, U = V[place], submatrix(affinity, distinct, torch.double)
    expected = ((repeated @ repeated.T - dense) ** 2).sum() / 36
    assert glas(V, U, times).item() == pytest.approx(expected.item())
    assert spread_out(V, times).item() == pytest.approx(spread_out(repeated).item())
    assert gravity(codes, V, times).item() == pytest.approx(gravity(codes, repeated).item())
    assert torch.autograd.gradcheck(lambda v: glas(v, U, times), (V.clone().requires_grad_(),))


def test_gradcheck() -> None:
    U = submatrix(some_affinity(5), np.arange(5), torch.double)
    V, codes = vectors(5, 3).requires_grad_(), vectors(4, 3, 1).requires_grad_()
    assert torch.autograd.gradcheck(lambda v: glas(v, U), (V,))
    assert torch.autograd.gradcheck(spread_out, (V,))
    assert torch.autograd.gradcheck(gravity, (codes, V))
