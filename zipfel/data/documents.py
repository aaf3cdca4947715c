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

    text: one name, or several with commas between them, whose texts are joined. label_separator: between the labels of
    one cell; None detects it, "none" says that a cell is one label. need_labels: whether a missing label field is an
    error (training) or means no labels (prediction).
    """

    text: str | None = None
    labels: str | None = None
    id: str | None = None
    label_separator: str | None = None
    need_labels: bool = True


TEXT_FIELDS = ("text", "content", "document", "body", "abstract", "description", "title")
TITLE_FIELD = "title"
LABEL_FIELDS = ("labels", "label", "tags", "tag", "subjects", "subject_uris", "topics", "categories", "keywords")
ID_FIELDS = ("id", "uid", "doc_id", "docid", "document_id")


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


def pick_texts(wanted: str | None, found: Collection[str]) -> tuple[str, ...]:
    """The fields whose texts make the document; none where one is missing.

    Without a wish it is "text", or else the first known name, behind "title" where there is one.

    >>> pick_texts(None, ["id", "title", "abstract"]), pick_texts("body,id", ["id", "body"])
    (('title', 'abstract'), ('body', 'id'))
    """
    if wanted is not None:
        names = (wanted,) if wanted in found else tuple(name.strip() for name in wanted.split(","))
        return names if all(name in found for name in names) else ()
    main = pick(None, TEXT_FIELDS, found)
    if main is None:
        return ()
    if main.strip().lower() == TEXT_FIELDS[0]:
        return (main,)
    title = next((name for name in found if name.strip().lower() == TITLE_FIELD), main)
    return (main,) if title == main else (title, main)


def joined_text(parts: Iterable[str]) -> str:
    """Texts of several fields as one."""
    return " ".join(part for part in parts if part)


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

    def dataset(
        self, name: str, *, X: sp.csr_matrix | None = None, duplicate_features: int = 0, guessed: str = ""
    ) -> Dataset:
        if not self.texts:
            raise DataError("has no rows", path=name)
        self._flush()
        Y = self._labels.finish(len(self._label_ids))
        lengths = np.diff(Y.indptr)
        bare = [not text.strip() for text in self.texts] if X is None else np.diff(X.indptr) == 0
        unlabelled, empty = int((lengths == 0).sum()), int(np.sum(bare))
        report = ReadReport(duplicate_features, self.duplicate_labels, unlabelled, empty, guessed)
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
