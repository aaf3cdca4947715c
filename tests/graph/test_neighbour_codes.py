"""Codes of label sets: near pairs by hand, and inner products that come out right."""

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.graph.neighbour_codes import nearest_sets, neighbour_codes

Y = sp.csr_matrix(np.array([[1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 1]], np.float32))


def test_near_pairs_are_the_nearest_and_themselves():
    """Row 2's nearest is row 0 (a tie with 1); row 3 is near to none but itself."""
    half = 2**-0.5
    expected = [[1, 1, half, 0], [1, 1, 0, 0], [half, 0, 1, 0], [0, 0, 0, 1]]
    np.testing.assert_allclose(nearest_sets(Y, 1).toarray(), expected, atol=1e-6)


def test_inner_products_of_near_pairs_are_learnt():
    rng = np.random.default_rng(0)
    many = sp.csr_matrix((rng.random((60, 30)) < 0.15).astype(np.float32))
    many = many[np.diff(many.indptr) > 0]
    near = nearest_sets(many, 5)
    rows, columns = near.nonzero()

    def error(Z):
        return float(np.square((Z[rows] * Z[columns]).sum(axis=1) - near.data).mean())

    start, codes = neighbour_codes(many, 16, n_neighbors=5, steps=0), neighbour_codes(many, 16, n_neighbors=5)
    assert codes.shape == (many.shape[0], 16)
    assert error(codes) < 0.1 * error(start)
    np.testing.assert_array_equal(codes, neighbour_codes(many, 16, n_neighbors=5))


def test_the_first_step_goes_down_the_gradient_of_the_sum_over_near_pairs():
    """The gradient of sum over Omega of (G_ij - z_i . z_j)^2 by finite differences; Adam's first step is its sign."""
    G = nearest_sets(Y, 1).toarray().astype(np.float64)

    def objective(Z):
        return (np.square(G - Z @ Z.T) * (G > 0)).sum()

    start = neighbour_codes(Y, 3, n_neighbors=1, steps=0).astype(np.float64)
    moved = neighbour_codes(Y, 3, n_neighbors=1, steps=1, lr=1e-3).astype(np.float64)
    for place in np.ndindex(start.shape):
        nudge = np.zeros_like(start)
        nudge[place] = 1e-6
        slope = (objective(start + nudge) - objective(start - nudge)) / 2e-6
        assert moved[place] - start[place] == pytest.approx(-1e-3 * np.sign(slope), abs=2e-5)
