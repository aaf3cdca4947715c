"""The encoder's codes against cosines worked out plainly; its training, by what it must learn."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from tests.contract import known
from zipfel.neighbors._matcher_torch import Matcher
from zipfel.neighbors.label_sets import Encoder, MatcherConfig
from zipfel.quantize import unpack_table
from zipfel.run import Run


def _encoder(rng: np.random.Generator) -> Encoder:
    """Three numbers, five features, four labels."""
    return Encoder(rng.standard_normal((5, 3)).astype(np.float32), rng.standard_normal((4, 3)).astype(np.float32))


def _cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def test_the_product_of_two_codes_is_a_cosine() -> None:
    rng = np.random.default_rng(0)
    encoder = _encoder(rng)
    x, y = rng.random((1, 5)).astype(np.float32), np.array([[1, 0, 1, 0]], dtype=np.float32)
    got = encoder.encode(sp.csr_matrix(x)) @ encoder.sets(sp.csr_matrix(y)).T
    cosine = _cosine((x @ encoder.features)[0], (y @ encoder.labels)[0])
    np.testing.assert_allclose(got[0, 0], cosine, atol=1e-5)


def test_likeness_is_the_product_with_a_single_label() -> None:
    rng = np.random.default_rng(1)
    encoder = _encoder(rng)
    codes = encoder.encode(sp.csr_matrix(rng.random((2, 5)).astype(np.float32)))
    one_label = encoder.sets(sp.identity(4, dtype=np.float32, format="csr"))
    (got,) = encoder.opinions(codes, np.array([[3, 0], [-1, 2]]))
    plain = codes @ one_label.T
    np.testing.assert_allclose(got, [[plain[0, 3], plain[0, 0]], [0, plain[1, 2]]], atol=1e-5)


def test_a_new_label_lies_where_its_points_are() -> None:
    encoder = _encoder(np.random.default_rng(2))
    codes = encoder.encode(sp.identity(5, dtype=np.float32, format="csr"))
    Y = sp.csr_matrix(np.array([[0] * 4 + [1]] * 2 + [[1] + [0] * 4] * 3, dtype=np.float32))
    extended = encoder.extended(codes, Y, np.array([4]))
    np.testing.assert_array_equal(extended.labels[:4], encoder.labels)
    assert _cosine(extended.labels[4], codes[0] + codes[1]) > 0.999


def test_a_document_comes_to_lie_near_its_own_label_set() -> None:
    train, run = known().train, Run(seed=1, threads=1)
    matcher = Matcher(MatcherConfig(dim=16, epochs=12, batch=16), train.X, train.Y, run)

    def gap() -> float:
        """Mean cosine with the own label set, less that with another's."""
        encoder = matcher.encoder()
        cosines = encoder.encode(known().test.X) @ encoder.sets(known().test.Y).T
        return float(np.diag(cosines).mean() - cosines.mean())

    before = gap()
    matcher.fit(train.X, train.Y, run)
    assert gap() > before + 0.2


def test_codes_are_rounded_as_they_are_saved() -> None:
    train, run = known().train, Run(seed=1, threads=1)
    encoder = Matcher(MatcherConfig(dim=8), train.X, train.Y, run).encoder()
    saved = encoder.state()
    assert saved["features"].dtype == saved["labels"].dtype == np.int8
    for name, table in (("features", encoder.features), ("labels", encoder.labels)):
        np.testing.assert_array_equal(unpack_table(name, saved, *table.shape), table)
