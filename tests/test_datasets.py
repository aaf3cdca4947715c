"""The bundled data: there, complete, and the right size."""

from __future__ import annotations

from importlib import resources

import pytest

from zipfel import datasets
from zipfel.errors import DataError


def test_debian_tags() -> None:
    train, test = datasets.load("debian-tags")
    assert (train.n_points, test.n_points) == (18_621, 4_432)
    assert len(set(train.label_names or ()) | set(test.label_names or ())) == 579
    assert (test.label_names or [])[: train.n_labels] == train.label_names
    assert not set(train.ids or ()) & set(test.ids or ())


def test_it_is_small() -> None:
    files = [f for f in resources.files("zipfel.datasets").iterdir() if f.name.endswith(".zst")]
    assert 0 < sum(len(f.read_bytes()) for f in files) < 4_000_000


def test_an_unknown_name_is_told() -> None:
    with pytest.raises(DataError, match="debian-tags"):
        datasets.load("debian-tag")
