from __future__ import annotations

import napkinxc.metrics as napkin
import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.errors import ParameterError
from zipfel.metrics import Propensity


def test_by_hand() -> None:
    # With A = 1 and B = 1: C = 2 (ln N - 1) and 1/p = 1 + C / (N_l + 1)
    assert Propensity(1.0, 1.0).inverse(np.array([0, 1, 3]), 20) == pytest.approx(
        1 + (np.log(20) - 1) * 2 / np.array([1, 2, 4])
    )


def test_equals_napkinxc() -> None:
    Y = sp.random(500, 30, 0.1, "csr", random_state=np.random.default_rng(0))
    Y.data[:] = 1
    counts = np.bincount(Y.indices, minlength=30)
    np.testing.assert_allclose(Propensity().inverse(counts, 500), napkin.Jain_et_al_inverse_propensity(Y), rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "constants"),
    [
        ("WikiLSHTC-325K", (0.5, 0.4)),
        ("Wikipedia-500K", (0.5, 0.4)),
        ("Amazon-670K", (0.6, 2.6)),
        ("amazon_3m", (0.6, 2.6)),
        ("AmazonTitles-670K", (0.6, 2.6)),
        ("AmazonTitles-3M", (0.6, 2.6)),
        ("WikiTitles-500K", (0.5, 0.4)),
        ("WikiSeeAlsoTitles-350K", (0.55, 1.5)),
        ("AmazonCat-13K", (0.55, 1.5)),
        ("bibtex", (0.55, 1.5)),
    ],
)
def test_presets_by_name(name: str, constants: tuple[float, float]) -> None:
    assert Propensity.of(name) == Propensity(*constants)


@pytest.mark.parametrize(
    ("word", "constants"), [("0.6, 2.6", (0.6, 2.6)), ("amazontitles_670k", (0.6, 2.6)), ("EURLex-4K", (0.55, 1.5))]
)
def test_an_option_is_two_numbers_or_a_data_set(word: str, constants: tuple[float, float]) -> None:
    assert Propensity.parse(word) == Propensity(*constants)


@pytest.mark.parametrize("word", ["AmazonTitle-670", "0.6,x", "0.6,0", "-1,2", "nan,1"])
def test_another_option_is_refused(word: str) -> None:
    with pytest.raises(ParameterError):
        Propensity.parse(word)


def test_with_two_points_or_fewer_every_label_weighs_the_same() -> None:
    assert Propensity().inverse(np.array([0, 1, 2]), 2).tolist() == [1, 1, 1]


@pytest.mark.parametrize("n_train", [0, 1, 2, 3])
def test_tiny_training_sets_never_weigh_below_one(n_train: int) -> None:
    assert (Propensity().inverse(np.array([0, 1, 2]), n_train) >= 1).all()


def test_the_table_lists_the_inverses() -> None:
    np.testing.assert_array_equal(Propensity().table(4, 99), Propensity().inverse(np.arange(5), 99))
