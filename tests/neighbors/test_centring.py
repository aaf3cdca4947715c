"""Dense features seen from their means, against plain arithmetic; and that auto keeps the centre."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse as sp

from zipfel import Zipfel
from zipfel.errors import ModelFileError
from zipfel.methods import make_method
from zipfel.methods.base import Points
from zipfel.neighbors.centring import centre_of, centred
from zipfel.run import Run


def _dense(n: int = 1200, d: int = 6) -> npt.NDArray[np.float32]:
    """Positive numbers; the last column is empty but for a tenth of the rows."""
    rng = np.random.default_rng(0)
    rows = 5 + rng.random((n, d), dtype=np.float32)
    rows[rng.random(n) < 0.9, -1] = 0
    return rows


def test_rows_are_seen_from_the_means_of_common_features() -> None:
    rows = _dense()
    rows[3] = 0
    centre = centre_of(sp.csr_matrix(rows))
    assert centre is not None
    np.testing.assert_allclose(centre[:-1], rows[:, :-1].mean(axis=0), rtol=1e-5)
    assert centre[-1] == 0
    expected = rows - centre
    expected[3] = 0
    expected[:3] /= np.linalg.norm(expected[:3], axis=1, keepdims=True)
    found = centred(sp.csr_matrix(rows), centre)
    np.testing.assert_allclose(found[:4].toarray(), expected[:4], atol=1e-5)
    assert found[3].nnz == 0
    np.testing.assert_allclose(sp.linalg.norm(found[4:], axis=1), 1, atol=1e-5)


def test_blocks_of_rows_give_what_one_gives() -> None:
    rows = sp.csr_matrix(_dense(9000, 3))
    centre = centre_of(rows)
    whole = centred(rows, centre)
    assert whole.shape == rows.shape
    for start in (0, 4095, 4096, 8999):
        np.testing.assert_array_equal(whole[start].toarray(), centred(rows[start], centre).toarray())
    assert centred(rows[:0], centre).shape == (0, 3)


def test_sparse_rows_stay_as_they_are() -> None:
    rows = sp.random(1200, 300, density=0.02, format="csr", dtype=np.float32, random_state=0)
    assert centre_of(rows) is None
    assert centred(rows, None) is rows


def _points() -> Points:
    """Labels hang on which of five numbers is largest, all of which are large."""
    rows = _dense(d=6)
    Y = sp.csr_matrix(np.eye(5, dtype=np.float32)[rows[:, :5].argmax(axis=1)])
    return Points(sp.csr_matrix(rows), Y)


@pytest.mark.parametrize("preset", [None, "quick"])
def test_numbers_that_are_all_large_tell_labels_apart(preset: str | None) -> None:
    points = _points()
    found = {}
    for centring in (True, False):
        model = Zipfel("auto", preset=preset, seed=1, threads=1, centring=centring)
        model.fit(points.X[:1000], points.Y[:1000])
        best = model.predict(points.X[1000:], 1).labels[:, 0]
        found[centring] = (best == points.Y[1000:].indices).mean()
    assert found[True] > 0.85
    if preset == "quick":  # a regression on codes finds its own way round
        assert found[True] > found[False] + 0.1


def test_a_saved_model_keeps_its_centre(tmp_path: Path) -> None:
    points = _points()
    model = Zipfel("auto", preset="quick", seed=1, threads=1).fit(points.X, points.Y)
    asked = sp.vstack([points.X[:20], sp.csr_matrix((1, 6), dtype=np.float32)], format="csr")
    before = model.predict(asked, 3)
    model.save(tmp_path / "model")
    after = Zipfel.load(tmp_path / "model").predict(asked, 3)
    np.testing.assert_array_equal(before.labels, after.labels)
    np.testing.assert_array_equal(before.scores, after.scores)
    model.explain(points.X[0])


def test_a_damaged_centre_is_refused() -> None:
    points = _points()
    method = make_method("auto", {"effort": "quick"})
    method.fit(points, None, Run(seed=1, threads=1))
    state = method.state()
    for damaged in (np.zeros(7, dtype=np.float32), np.full(6, 1e300)):
        state.arrays["centre"] = damaged
        with pytest.raises(ModelFileError, match="centre"):
            make_method("auto", {"effort": "quick"}).restore(state, 6, 5)
