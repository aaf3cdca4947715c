"""U of three labels by hand: a and b are on two rows together, c is always with a."""

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.regularizers.affinity import AFFINITIES, Affinity, label_affinity

# a: 4 rows, b: 2, c: 1, and a label that never occurs
Y = sp.csr_matrix(np.array([[1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 0]], dtype=np.float32))


@pytest.mark.parametrize(
    ("kind", "a_b", "a_c"),
    [
        ("arithmetic", (2 / 2 + 2 / 4) / 2, (1 / 1 + 1 / 4) / 2),
        ("geometric", 2 / np.sqrt(8), 1 / 2),
        ("jaccard", 2 / 4, 1 / 4),
        ("pmi", 0.0, 0.0),  # a is on every row, so it says nothing about b or c
    ],
)
def test_equals_the_numbers_worked_by_hand(kind: str, a_b: float, a_c: float) -> None:
    U = label_affinity(Y, kind).toarray()
    expected = [[1, a_b, a_c, 0], [a_b, 1, 0, 0], [a_c, 0, 1, 0], [0, 0, 0, 0]]
    np.testing.assert_allclose(U, expected, rtol=1e-6)


def test_pmi_of_labels_that_go_together() -> None:
    pairs = sp.csr_matrix(np.array([[1, 1], [1, 1], [0, 0], [1, 0]], dtype=np.float32))
    expected = np.log((2 / 4) / (3 / 4 * 2 / 4)) / -np.log(2 / 4)
    assert label_affinity(pairs, "pmi")[0, 1] == pytest.approx(expected)


@pytest.mark.parametrize("kind", AFFINITIES)
def test_is_symmetric_and_within_zero_and_one(kind: str) -> None:
    rng = np.random.default_rng(0)
    U = label_affinity(sp.csr_matrix((rng.random((40, 12)) < 0.2).astype(np.float32)), kind)
    assert abs(U - U.T).max() < 1e-6
    assert U.data.min() > 0
    assert U.data.max() <= 1 + 1e-6


def test_an_unknown_kind_names_those_there_are() -> None:
    with pytest.raises(ValueError, match="arithmetic"):
        label_affinity(Y, "cosine")


@pytest.mark.parametrize("kind", AFFINITIES)
@pytest.mark.parametrize("whole", [0, 10**6])
def test_between_some_labels_is_the_same_whether_u_is_made_whole_or_not(kind: str, whole: int) -> None:
    rng = np.random.default_rng(1)
    some = sp.csr_matrix((rng.random((60, 9)) < 0.3).astype(np.float32))
    labels = np.array([7, 2, 5])
    found = Affinity(some, kind, whole=whole).between(labels).to_dense().numpy()
    np.testing.assert_allclose(found, label_affinity(some, kind).toarray()[np.ix_(labels, labels)], rtol=1e-5)
