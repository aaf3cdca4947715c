"""Splits and samples that come out the same on every machine and in every run."""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt

from zipfel.data.dataset import Dataset
from zipfel.errors import ParameterError

_STEPS = float(1 << 64)
_RUN = 40


def split(dataset: Dataset, share: float, *, salt: str = "") -> tuple[Dataset, Dataset]:
    """(rest, held out): about `share` of the rows of a dataset are held out, chosen by a hash of each row's key.

    The key is the id; without ids the text; without texts the row's number. With ids or texts, a document keeps its
    side if others are added or the order changes. Another `salt` gives another split.

    >>> from zipfel.data import synth
    >>> rest, held_out = split(synth(100, 200, 10), 0.2)
    >>> len(rest) + len(held_out)
    100
    """
    if not 0 < share < 1:
        raise ParameterError(f"share must lie between 0 and 1, got {share!r}")
    held = positions(dataset, salt=salt) < share
    return dataset.take(np.flatnonzero(~held)), dataset.take(np.flatnonzero(held))


def sample(dataset: Dataset, n_points: int, *, salt: str = "") -> Dataset:
    """The `n_points` rows of a dataset with the lowest hashes, in their order; all rows if there are fewer.

    A larger sample with the same salt holds the smaller one.

    >>> from zipfel.data import synth
    >>> len(sample(synth(100, 200, 10), 30))
    30
    """
    if n_points < 1:
        raise ParameterError(f"a sample needs at least 1 row, got {n_points}")
    order = np.argsort(positions(dataset, salt=salt), kind="stable")
    return dataset.take(np.sort(order[:n_points]))


def held_out_runs(n_points: int, n: int, rng: np.random.Generator, *, length: int = _RUN) -> npt.NDArray[np.int64]:
    """n of n_points rows, sorted, in runs of consecutive ones.

    Files are often sorted by source or by time, and next to a document stands its sister. Taken one by one, rows would
    leave their sisters in train, and new documents have none. In a shuffled file runs are as good as single rows.
    """
    length = max(1, min(length, n_points // 20))
    starts = rng.permutation(np.arange(0, n_points, length))
    rows = (starts[:, None] + np.arange(length)).ravel()
    return np.sort(rows[rows < n_points][:n])


def positions(dataset: Dataset, *, salt: str = "") -> npt.NDArray[np.float64]:
    """A number in 0..1 for each row: the BLAKE2 hash of its key (id, else text, else row number)."""
    person = hashlib.blake2b(salt.encode("utf-8"), digest_size=16).digest()
    found = np.empty(dataset.n_points)
    for i, key in enumerate(_keys(dataset)):
        digest = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8, person=person).digest()
        found[i] = int.from_bytes(digest, "big") / _STEPS
    return found


def _keys(dataset: Dataset) -> list[str]:
    if dataset.ids is not None:
        return list(dataset.ids)
    if dataset.texts is not None:
        return list(dataset.texts)
    return [str(i) for i in range(dataset.n_points)]
