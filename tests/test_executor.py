"""Parts whose work is cut into tasks learn the same, whoever does the tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.data import synth
from zipfel.executor import Arrays, Work, current_executor, use_executor
from zipfel.index import sparse
from zipfel.linear import LinearClassifiers, Problems, classifiers
from zipfel.neighbors.words import WordIndex


class Elsewhere:
    """Runs tasks here, on copies that can't be written to, in another order."""

    n_workers = 3

    def __init__(self) -> None:
        self.done: list[str] = []

    def map(self, work: Work, shared: Sequence[Any], tasks: Sequence[tuple[Any, ...]]) -> list[Arrays]:
        self.done.append(work.__name__)
        frozen = [_frozen(value) for value in shared]
        results = [work(*frozen, *task) for task in reversed([tuple(map(_frozen, task)) for task in tasks])]
        return results[::-1]


def _frozen(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        value = value.copy()
        value.flags.writeable = False
    return value


@pytest.fixture(autouse=True)
def _everything_is_worth_sending(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparse, "_WORTH_SENDING", 0)
    monkeypatch.setattr(classifiers, "_WORTH_SENDING", 0)


def test_there_is_none_by_default() -> None:
    assert current_executor() is None
    with use_executor(Elsewhere()):
        assert current_executor() is not None
    assert current_executor() is None


@pytest.mark.parametrize("precision", ["int8", "float32"])
def test_classifiers_are_the_same(precision: str) -> None:
    data = synth(600, 500, 80, features_per_point=20, labels_per_point=3)
    config = classifiers.LinearConfig(precision=precision)
    shortlist = np.random.default_rng(0).permuted(np.tile(np.arange(80, dtype=np.int32), (600, 1)), axis=1)[:, :20]
    alone, apart, executor = Problems.build(data.Y, shortlist), Problems.build(data.Y, shortlist), Elsewhere()
    here = [LinearClassifiers(config).fit(data.X, alone).state() for _ in range(2)]  # the second goes on from the first
    with use_executor(executor):
        there = [LinearClassifiers(config).fit(data.X, apart).state() for _ in range(2)]
    assert executor.done == ["solve_labels_of_shard"] * 2
    assert np.array_equal(alone.dual, apart.dual)
    for one, two in zip(here, there, strict=True):
        for name, array in one.items():
            assert np.array_equal(array, two[name]), name


def test_neighbours_are_the_same() -> None:
    rows = synth(400, 300, 20, features_per_point=15, labels_per_point=2).X
    rows = sp.vstack([rows, rows[:50]], format="csr")  # with ties, and rows that are like no other
    rows[7] = 0
    rows.eliminate_zeros()
    index, executor = WordIndex.whole(rows), Elsewhere()
    here = index.search_own(rows, 12)
    with use_executor(executor):
        there = index.search_own(rows, 12)
    assert executor.done == ["search_own_rows"]
    for one, two in zip(here, there, strict=True):
        assert np.array_equal(one, two)
