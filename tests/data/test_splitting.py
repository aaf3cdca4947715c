from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.data import Dataset, sample, split
from zipfel.data.splitting import held_out_runs, positions
from zipfel.errors import ParameterError


def numbered(n: int, **more: object) -> Dataset:
    """Row i has feature i."""
    return Dataset(Y=sp.csr_matrix((n, 3), dtype=np.float32), X=sp.eye(n, format="csr", dtype=np.float32), **more)  # type: ignore[arg-type]


def rows(dataset: Dataset) -> list[int]:
    assert dataset.X is not None
    return dataset.X.indices.tolist()


def test_the_parts_make_the_whole_and_have_their_share() -> None:
    rest, held = split(numbered(2000), 0.2)
    assert sorted(rows(rest) + rows(held)) == list(range(2000))
    assert rows(held) == sorted(rows(held))
    assert 330 < held.n_points < 470


def test_hashes_are_the_same_on_every_machine() -> None:
    found = positions(numbered(3, ids=["a", "b", "ü"]))
    np.testing.assert_allclose(found, [0.693238, 0.181957, 0.666516], atol=1e-6)


def test_a_document_keeps_its_side() -> None:
    ids = [f"doc-{i}" for i in range(300)]
    _, held = split(numbered(300, ids=ids), 0.3)
    order = np.random.default_rng(0).permutation(300)[:200]
    _, again = split(numbered(300, ids=ids).take(order), 0.3)
    assert held.ids is not None
    assert again.ids is not None
    assert set(again.ids) == {ids[i] for i in order} & set(held.ids)


def test_without_ids_the_text_decides() -> None:
    texts = [f"text {i}" for i in range(50)]
    _, held = split(numbered(50, texts=texts), 0.5)
    _, again = split(numbered(50, texts=texts[::-1]), 0.5)
    assert set(held.texts or ()) == set(again.texts or ())


def test_salt_gives_another_split() -> None:
    assert rows(split(numbered(100), 0.5)[1]) != rows(split(numbered(100), 0.5, salt="b")[1])


def test_samples_are_nested_and_in_order() -> None:
    small, large = sample(numbered(500), 50), sample(numbered(500), 100)
    assert small.n_points == 50
    assert set(rows(small)) < set(rows(large))
    assert rows(large) == sorted(rows(large))
    assert sample(numbered(5), 100).n_points == 5


@pytest.mark.parametrize("share", [0, 1, -0.1, 1.5, float("nan")])
def test_shares_that_make_no_sense(share: float) -> None:
    with pytest.raises(ParameterError, match="between 0 and 1"):
        split(numbered(5), share)
    with pytest.raises(ParameterError, match="at least 1 row"):
        sample(numbered(5), 0)


def test_held_out_runs_are_consecutive_and_as_many_as_asked_for() -> None:
    rows = held_out_runs(1000, 120, np.random.default_rng(0), length=40)
    assert len(rows) == len(np.unique(rows)) == 120
    assert (np.diff(rows) == 1).sum() >= 120 - 4  # three runs and perhaps a cut one
    assert len(held_out_runs(3, 1, np.random.default_rng(0))) == 1
    assert held_out_runs(10, 10, np.random.default_rng(1)).tolist() == list(range(10))
