"""Labels of data matched with the concepts of a vocabulary: by identifier, by `<URI>`, or by a name that is unique."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from zipfel.data.dataset import Dataset, label_matrix
from zipfel.data.vocabulary import Concept, Vocabulary, clean_id
from zipfel.errors import DataError, ParameterError

UNKNOWN_LABELS = ("skip", "refuse")
_SHOWN = 5


@dataclass(frozen=True)
class Unmatched:
    """A label of the data that is no concept. identifiers: of the concepts with that name; none: there is none."""

    label: str
    identifiers: tuple[str, ...]
    line: int | None
    n_documents: int

    def __str__(self) -> str:
        if not self.identifiers:
            return f"label {self.label!r:.80} is not in the vocabulary"
        shown = ", ".join(self.identifiers[:3])
        return f"label {self.label!r:.80} is the name of {len(self.identifiers)} concepts: {shown}"


class LabelFinder:
    """Concepts by what data may call them.

    >>> finder = LabelFinder(Vocabulary([Concept("x:1", {"en": "boat"}), Concept("x:2", {"en": "ship"})]))
    >>> finder.find("<x:2>"), finder.find("Boat"), finder.find("car")
    ([1], [0], [])
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._positions = vocabulary.positions
        self._levels: list[dict[str, list[int]]] = [{}, {}, {}]
        for i, concept in enumerate(vocabulary.concepts):
            names = concept.all_names()
            for level, keys in enumerate(
                (
                    {name for name, _, preferred in names if preferred},
                    {name for name, _, _ in names},
                    {name.casefold() for name, _, _ in names},
                )
            ):
                for key in keys:
                    self._levels[level].setdefault(key, []).append(i)

    def find(self, label: str) -> list[int]:
        """Positions of the concepts that match, by the first rule that finds any: the identifier, a preferred name, any
        name, any name with case ignored."""
        position = self._positions.get(clean_id(label))
        if position is not None:
            return [position]
        for level, key in enumerate((label, label, label.casefold())):
            if found := self._levels[level].get(key):
                return found
        return []


def match_labels(
    data: Dataset, vocabulary: Vocabulary, unknown: str = "skip"
) -> tuple[Dataset, Vocabulary, list[Unmatched]]:
    """Three results: the data with a column for every concept, the vocabulary in the order of these columns, and the
    unmatched labels. A label is unmatched if it names no concept or several; `unknown` says whether such labels are
    skipped or refused.

    Labels keep the data's names for them and come first. Concepts without a document follow. They are named like most
    labels: by identifier, `<URI>` or name.
    """
    if unknown not in UNKNOWN_LABELS:
        raise ParameterError(f"unknown_labels must be one of {', '.join(UNKNOWN_LABELS)}; got {unknown!r}")
    if data.label_names is None:
        raise DataError("the data has label numbers and no names, so no vocabulary can name them", path=data.name)
    finder = LabelFinder(vocabulary)
    found = [finder.find(name) for name in data.label_names]
    unmatched = _unmatched(data, vocabulary, found)
    if unmatched and unknown == "refuse":
        more = f"; {len(unmatched) - 1:,} more labels do not match" if len(unmatched) > 1 else ""
        remedy = "correct it, or skip such labels with --unknown-labels skip"
        raise DataError(f"{unmatched[0]}{more}", path=data.name or None, line=unmatched[0].line, remedy=remedy)
    if len(unmatched) == len(found):
        message = f"none of the {len(found):,} labels is in the vocabulary; the first is {data.label_names[0]!r:.80}"
        raise DataError(message, path=data.name or None, remedy="is it the right vocabulary?")
    return (*_aligned(data, vocabulary, [f[0] if len(f) == 1 else -1 for f in found]), unmatched)


def renamed(data: Dataset, names: Sequence[str], finder: LabelFinder) -> Dataset:
    """The data with its labels called as a model calls them: `names` by position; others keep their names."""
    if data.label_names is None or list(data.label_names) == list(names):
        return data
    own = set(names)
    found = [[] if label in own else finder.find(label) for label in data.label_names]
    called = [names[f[0]] if len(f) == 1 else label for f, label in zip(found, data.label_names, strict=True)]
    return _merged(data, called)


def describe(unmatched: Sequence[Unmatched], path: str) -> list[str]:
    """Sentences for a user: the first few, with their lines, and how many more there are."""
    lines = [f"{path}:{u.line}: {u}; skipped" if u.line else f"{path}: {u}; skipped" for u in unmatched[:_SHOWN]]
    if len(unmatched) > _SHOWN:
        n_documents = sum(u.n_documents for u in unmatched)
        lines.append(f"{path}: {len(unmatched):,} labels, {n_documents:,} times in all, were skipped like these")
    return lines


def _unmatched(data: Dataset, vocabulary: Vocabulary, found: Sequence[list[int]]) -> list[Unmatched]:
    wrong = [i for i, positions in enumerate(found) if len(positions) != 1]
    if not wrong:
        return []
    assert data.label_names is not None
    by_label = data.Y.tocsc()
    rows = [by_label.indices[by_label.indptr[i] : by_label.indptr[i + 1]] for i in wrong]
    first = [int(r.min()) if len(r) else None for r in rows]
    return [
        Unmatched(
            data.label_names[i],
            tuple(vocabulary.identifier(position) for position in found[i]),
            None if row is None or data.lines is None else int(data.lines[row]),
            len(its_rows),
        )
        for i, row, its_rows in zip(wrong, first, rows, strict=True)
    ]


def _aligned(data: Dataset, vocabulary: Vocabulary, position: list[int]) -> tuple[Dataset, Vocabulary]:
    assert data.label_names is not None
    called: dict[int, str] = {}
    for label, i in zip(data.label_names, position, strict=True):
        if i >= 0:
            called.setdefault(i, label)
    named = _usual_style(vocabulary, called)
    order = [*called, *(i for i in range(len(vocabulary)) if i not in called)]
    taken = set(called.values())
    names = [called.get(i) or _free(named(vocabulary.concepts[i]), vocabulary.identifier(i), taken) for i in order]
    column = {i: place for place, i in enumerate(order)}
    columns = np.array([column.get(i, -1) for i in position], dtype=np.int64)[data.Y.indices]
    rows = np.repeat(np.arange(data.n_points), np.diff(data.Y.indptr))[columns >= 0]
    Y = label_matrix(rows, columns[columns >= 0], (data.n_points, len(order)))
    return replace(data, Y=Y, label_names=names), Vocabulary([vocabulary.concepts[i] for i in order])


def _usual_style(vocabulary: Vocabulary, called: dict[int, str]) -> Callable[[Concept], str]:
    """How most labels are called: a function that calls others so."""
    identifiers = [vocabulary.identifier(i) for i in called]
    plain = sum(label == name for label, name in zip(called.values(), identifiers, strict=True))
    marked = sum(label.strip() == f"<{name}>" for label, name in zip(called.values(), identifiers, strict=True))
    if max(plain, marked) * 2 < len(called):
        return lambda concept: concept.name()
    return (lambda concept: concept.id) if plain >= marked else (lambda concept: f"<{concept.id}>")


def _free(name: str, identifier: str, taken: set[str]) -> str:
    """The name, or where it is another label's the identifier."""
    chosen = identifier if name in taken else name
    taken.add(chosen)
    return chosen


def _merged(data: Dataset, called: Sequence[str]) -> Dataset:
    """With one column for all labels of one name."""
    names = list(dict.fromkeys(called))
    place = {name: i for i, name in enumerate(names)}
    columns = np.array([place[name] for name in called], dtype=np.int64)[data.Y.indices]
    rows = np.repeat(np.arange(data.n_points), np.diff(data.Y.indptr))
    return replace(data, Y=label_matrix(rows, columns, (data.n_points, len(names))), label_names=names)
