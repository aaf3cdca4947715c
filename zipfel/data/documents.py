"""Collects texts, ids and label names row by row: what every reader of raw text hands its rows to."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from zipfel.data.dataset import Dataset, ReadReport
from zipfel.data.growing import GrowingCSR
from zipfel.errors import DataError


@dataclass(frozen=True)
class Fields:
    """Where a row keeps its text, labels and id; None means the first known name that occurs.

    label_separator: between the labels of one cell; None detects it. need_labels: whether a missing label field is an
    error (training) or means no labels (prediction).
    """

    text: str | None = None
    labels: str | None = None
    id: str | None = None
    label_separator: str | None = None
    need_labels: bool = True


TEXT_FIELDS = ("text", "content", "document", "body", "abstract", "description", "title")
LABEL_FIELDS = ("labels", "label", "tags", "tag", "subjects", "topics", "categories", "keywords")
ID_FIELDS = ("id", "uid", "doc_id", "docid")


def pick(wanted: str | None, known: tuple[str, ...], found: Collection[str]) -> str | None:
    """The wanted field where it exists; without a wish the first of the known names, in upper or lower case."""
    usual = known[0] if wanted is None else wanted
    if usual in found or wanted is not None:
        return usual if usual in found else None
    by_lower = {name.strip().lower(): name for name in reversed([*found])}
    return next((by_lower[name] for name in known if name in by_lower), None)


class RowNumber(str):
    """The number of a row, in place of the id that it lacks."""

    __slots__ = ()


@dataclass
class Documents:
    """Rows of raw text on their way to a `Dataset`; labels get their ids in the order of appearance."""

    texts: list[str] = field(default_factory=list)
    ids: list[str] | None = None
    duplicate_labels: int = 0
    _label_ids: dict[str, int] = field(default_factory=dict)
    _labels: GrowingCSR = field(default_factory=GrowingCSR)
    _lengths: list[int] = field(default_factory=list)
    _columns: list[int] = field(default_factory=list)
    _lines: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.texts)

    def add(
        self,
        text: str,
        labels: Iterable[str],
        id: str | None = None,  # noqa: A002 - the field's name
        line: int | None = None,
    ) -> None:
        """One more row; line: where it stands. Raises ValueError where the text cannot be written as UTF-8."""
        check_unicode(text)
        self._give_id(id)
        self.texts.append(text)
        if line is not None:
            self._lines.append(line)
        columns = [self._label_id(name) for name in labels]
        unique = sorted(set(columns))
        self.duplicate_labels += len(columns) - len(unique)
        self._lengths.append(len(unique))
        self._columns.extend(unique)
        if len(self._columns) > 1 << 16:
            self._flush()

    def dataset(self, name: str, *, X: sp.csr_matrix | None = None, duplicate_features: int = 0) -> Dataset:
        if not self.texts:
            raise DataError("has no rows", path=name)
        self._flush()
        Y = self._labels.finish(len(self._label_ids))
        lengths = np.diff(Y.indptr)
        bare = [not text.strip() for text in self.texts] if X is None else np.diff(X.indptr) == 0
        report = ReadReport(duplicate_features, self.duplicate_labels, int((lengths == 0).sum()), int(np.sum(bare)))
        has_texts = X is None or any(self.texts)
        return Dataset(
            Y=Y,
            X=X,
            texts=self.texts if has_texts else None,
            label_names=list(self._label_ids),
            ids=self.ids,
            lines=np.array(self._lines, dtype=np.int64) if len(self._lines) == len(self.texts) else None,
            report=report,
        )

    def _give_id(self, id: str | None) -> None:  # noqa: A002 - the field's name
        """Ids are kept once one row has one; rows without get their number, counted from 0."""
        if self.ids is None and id is not None:
            self.ids = [RowNumber(i) for i in range(len(self.texts))]
        if self.ids is not None:
            self.ids.append(RowNumber(len(self.texts)) if id is None else id)

    def _label_id(self, name: str) -> int:
        known = self._label_ids.get(name)
        if known is None:
            check_unicode(name)
            known = self._label_ids[name] = len(self._label_ids)
        return known

    def _flush(self) -> None:
        self._labels.append(self._lengths, self._columns, np.ones(len(self._columns), dtype=np.float32))
        self._lengths, self._columns = [], []


def check_unicode(text: str) -> None:
    """Half a surrogate pair, which JSON can hold, is no text."""
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise ValueError(f"character {error.start + 1} of the text is half a surrogate pair") from None
