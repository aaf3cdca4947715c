"""The small network's codes and log-odds against plain arithmetic; its training, by what it must learn."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from tests.contract import known
from zipfel.index.base import unit_rows
from zipfel.nn.quantize import unpack_table
from zipfel.ranker.network import Network, NetworkConfig, NetworkEncoder
from zipfel.run import Run


def _encoder(rng: np.random.Generator) -> NetworkEncoder:
    """Three numbers, five features, four labels."""
    features, labels, mean = (rng.standard_normal(shape).astype(np.float32) for shape in ((5, 3), (4, 3), 3))
    return NetworkEncoder(features, labels, mean)


def test_codes_and_log_odds_equal_the_definition() -> None:
    rng = np.random.default_rng(0)
    encoder = _encoder(rng)
    x = rng.random((2, 5)).astype(np.float32)
    codes = encoder.encode(sp.csr_matrix(x))
    np.testing.assert_allclose(codes, np.maximum(x @ encoder.features, 0), atol=1e-5)
    doubt, trust = encoder.opinions(codes, np.array([[3, 0], [-1, 2]]))
    odds = codes[:, :2] @ encoder.labels[:, :2].T + encoder.labels[:, 2]
    np.testing.assert_allclose(doubt + trust, [[odds[0, 3], odds[0, 0]], [0, odds[1, 2]]], atol=1e-5)
    assert (doubt <= 0).all()
    assert (trust >= 0).all()


def test_neighbours_are_searched_from_the_mean() -> None:
    encoder = _encoder(np.random.default_rng(1))
    codes = np.array([[1, 2, 0], [0, 0, 0]], dtype=np.float32)
    got = encoder.searched(codes)
    np.testing.assert_allclose(got[0], unit_rows(codes[:1] - encoder.mean)[0], atol=1e-6)
    assert not got[1].any()  # nothing is known of it


def test_it_learns_which_labels_are_right() -> None:
    train, test, run = known().train, known().test, Run(seed=1, threads=1)
    network = Network(NetworkConfig(dim=16, epochs=8, batch=16), train.X, train.Y, run)
    every = np.tile(np.arange(train.n_labels), (test.X.shape[0], 1))

    def gap() -> float:
        """Mean log-odds of right labels less that of wrong ones."""
        encoder = network.encoder(train.X)
        odds = np.sum(encoder.opinions(encoder.encode(test.X), every), axis=0)
        right = test.Y.toarray() > 0
        return float(odds[right].mean() - odds[~right].mean())

    before = gap()
    network.fit(train.X, train.Y, run)
    assert gap() > before + 0.5


def test_a_new_label_is_told_by_its_points() -> None:
    encoder = _encoder(np.random.default_rng(2))
    codes = encoder.encode(sp.identity(5, dtype=np.float32, format="csr"))
    searched = encoder.searched(codes)
    Y = sp.csr_matrix(np.array([[0] * 4 + [1]] + [[1] + [0] * 4] * 4, dtype=np.float32))
    extended = encoder.extended(searched, Y, np.array([4]))
    np.testing.assert_array_equal(extended.labels[:4], encoder.labels)
    odds = np.sum(extended.opinions(codes, np.full((5, 1), 4)), axis=0)[:, 0]
    assert odds.argmax() == (codes[:, :2] @ searched[0, :2]).argmax()


def test_codes_are_rounded_as_they_are_saved() -> None:
    train, run = known().train, Run(seed=1, threads=1)
    encoder = Network(NetworkConfig(dim=8), train.X, train.Y, run).encoder(train.X)
    saved = encoder.state()
    assert saved["features"].dtype == saved["labels"].dtype == np.int8
    for name, table in (("features", encoder.features), ("labels", encoder.labels)):
        np.testing.assert_array_equal(unpack_table(name, saved, *table.shape), table)
