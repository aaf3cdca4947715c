"""What looks wrong in data that can be used all the same: one sentence each, as warnings."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.data.dataset import Dataset
from zipfel.errors import DataWarning

Names = Sequence[str] | None

_FEW_ROWS, _FEW_NAMES = 50, 10
"""Rows, and label names, below which nothing is remarked: an example, not data."""
_LOOKED_AT = 100_000
"""Documents among which copies are looked for."""
_COPIES, _JOINED, _ONCE = 0.05, 0.1, 0.9
"""Shares from which on something is remarked: copies among documents, names that look joined among labels, labels of
their own among documents."""
_TOLD = 0.005
"""Share of unknown labels that is worth a sentence."""


def remarks_on(train: Dataset) -> list[str]:
    """What a user should look at before training on these documents.

    >>> import scipy.sparse as sp
    >>> remarks_on(Dataset(Y=sp.identity(60, format="csr"), texts=[f"text {i}" for i in range(60)]))
    ['every document has a label of its own (60 labels in 60 documents), so nothing can be learned about any: is the \
label column the right one?']
    """
    if train.n_points < _FEW_ROWS:
        return []
    return [*_remarks_on_counts(train), *_remarks_on_names(train.label_names or ()), *_remarks_on_copies(train)]


def remarks_on_unknown(
    truth: sp.csr_matrix, known: npt.NDArray[np.bool_], known_names: Names = None, true_names: Names = None
) -> list[str]:
    """Of an evaluation: true labels that the model has never seen. known: (n_labels,) whether it has."""
    if not truth.nnz:
        return ["no document of the test data has a label, so every metric is 0"]
    seen = np.zeros(truth.shape[1], dtype=bool)
    seen[: len(known)] = known[: truth.shape[1]]
    share = 1 - float(seen[truth.indices].mean())
    if share == 1:
        both = f"; the model has {_some(known_names)}, the test data {_some(true_names)}" * bool(
            known_names and true_names
        )
        return [f"all of the true labels are unknown to the model, so every metric is 0{both}"]
    shown = f"{100 * share:.0f}" if share >= 0.01 else "1" if share >= _TOLD else ""
    return [f"{shown} % of the true labels are unknown to the model: no training document has them"] * bool(shown)


def _some(names: Names) -> str:
    return ", ".join(repr(name[:40]) for name in (names or ())[:3])


def warn(sentences: Iterable[str]) -> None:
    """Each as a `DataWarning` at the line of the user's program that called zipfel."""
    for sentence in sentences:
        warnings.warn(sentence, DataWarning, stacklevel=_user_level())


def _user_level() -> int:
    """How far up the stack the first frame is that is not zipfel's, as `warnings.warn` in `warn` counts."""
    level, frame = 2, sys._getframe(2)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).split(".")[0] == "zipfel":
        level, frame = level + 1, frame.f_back
    return level


def _remarks_on_counts(train: Dataset) -> Iterator[str]:
    counts = train.label_counts()
    used, tagged = int((counts > 0).sum()), int((np.diff(train.Y.indptr) > 0).sum())
    if tagged and int(counts.max()) == 1:
        if train.Y.nnz == tagged:
            yield (
                f"every document has a label of its own ({used:,} labels in {tagged:,} documents), so nothing can be "
                "learned about any: is the label column the right one?"
            )
        else:
            yield f"each of the {used:,} labels occurs only once, so little can be learned about any"
    elif train.Y.nnz == tagged and used > _ONCE * tagged:
        yield (
            f"nearly every document has a label of its own ({used:,} labels in {tagged:,} documents): is the label "
            "column the right one?"
        )


def _remarks_on_names(names: Sequence[str]) -> Iterator[str]:
    """Names that are several names: put together from fewer pieces than there are names."""
    for separator in "|;,\t":
        joined = [name for name in names if separator in name]
        if len(names) < _FEW_NAMES or len(joined) < _JOINED * len(names):
            continue
        pieces = {piece.strip() for name in names for piece in name.split(separator)}
        if len(pieces) < len(names):
            sign = {"\t": "a tab"}.get(separator, repr(separator))
            yield (
                f"{len(joined):,} of {len(names):,} labels look like several in one, such as {joined[0][:60]!r}: split "
                f"them at {sign} (CSV: --label-separator)"
            )
            return


def _remarks_on_copies(train: Dataset) -> Iterator[str]:
    n = min(train.n_points, _LOOKED_AT)
    if train.texts is not None:
        written = [text for text in train.texts[:n] if text.strip()]
        copies, looked_at = len(written) - len(set(written)), len(written)
    elif train.X is not None:
        rows = train.X[:n]
        filled = np.diff(rows.indptr) > 0
        drawn = np.random.default_rng(0).random(rows.shape[1])  # equal rows have equal products
        looked_at = int(filled.sum())
        copies = looked_at - len(np.unique((rows @ drawn)[filled]))
    if copies > _COPIES * n:
        yield (
            f"{copies:,} of {looked_at:,} documents are copies of another one: figures on a held-out part look better "
            "than they are where copies stand on both sides"
        )
