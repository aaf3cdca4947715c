"""ARFF as Mulan and MEKA write it. First come the attributes, some of them labels, then sparse {i v,i v} or dense v,v,v
rows.

Two conventions mark the attributes that are labels. Mulan has an XML file: NAME.xml beside NAME.arff, NAME-train.arff
and NAME-test.arff, unless another is given. MEKA has "-C n" in the relation's name: the first n attributes, or the last
n if n is negative. A nominal attribute counts as the number its value is, or else as the value's place in its list,
from 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from zipfel.data.arff_labels import label_names_of
from zipfel.data.dataset import Dataset
from zipfel.data.growing import GrowingCSR
from zipfel.data.plain_rows import MAX_COLUMNS, MAX_FLOAT32, parse_number
from zipfel.data.sparse_rows import report_on
from zipfel.data.streams import Stream
from zipfel.errors import DataError

_NAME = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s{},]+"""
_ATTRIBUTE = re.compile(rf"@attribute\s+({_NAME})\s*(.*)", re.IGNORECASE | re.DOTALL)
_CELL = re.compile(rf"\s*({_NAME})\s*(?:,|$)")
_PAIR = re.compile(rf"\s*([0-9]+)\s+({_NAME})\s*(?:,|$)")


@dataclass(frozen=True)
class Attribute:
    """name, and for a nominal one the number that each of its values counts as."""

    name: str
    nominal: dict[str, float] | None = None

    def number(self, cell: str) -> float:
        if self.nominal is None:
            return parse_number(cell)
        if cell not in self.nominal:
            raise ValueError(f"{cell[:40]!r} is not among the values of attribute {self.name[:40]!r}")
        return self.nominal[cell]


@dataclass(frozen=True)
class Place:
    """Where an attribute's column is: in Y or X."""

    is_label: bool
    column: int


def read_arff(stream: Stream, labels: str | Path | None, *, need_labels: bool) -> Dataset:
    lines = ((n, line.strip()) for n, line in stream.lines())
    relation, attributes = _header(lines, stream.name)
    names = [attribute.name for attribute in attributes]
    places = _places(names, label_names_of(stream.name, labels, relation, names, need_labels=need_labels))
    X, Y = GrowingCSR(), GrowingCSR()
    duplicates = [0, 0]
    for number, line in lines:
        if not line or line.startswith("%"):
            continue
        try:
            sums = _sums(_row(line, attributes), attributes)
        except ValueError as error:
            message, _, remedy = str(error).partition(" | ")
            raise DataError(message, path=stream.name, line=number, remedy=remedy) from None
        for is_label, matrix in ((False, X), (True, Y)):
            own = [(places[i].column, total, n) for i, (total, n) in sums.items() if places[i].is_label == is_label]
            kept = sorted((column, 1.0 if is_label else total) for column, total, _ in own if total)
            matrix.append([len(kept)], [column for column, _ in kept], [value for _, value in kept])
            duplicates[is_label] += sum(n for _, _, n in own) - len(own)
    return _dataset(X, Y, attributes, places, (duplicates[0], duplicates[1]), stream.name)


def _sums(row: list[tuple[int, float]], attributes: list[Attribute]) -> dict[int, tuple[float, int]]:
    """For each attribute of a row its values' sum and their number."""
    sums: dict[int, tuple[float, int]] = {}
    for i, value in row:
        total, n = sums.get(i, (0.0, 0))
        sums[i] = total + value, n + 1
        if abs(total + value) >= MAX_FLOAT32:
            raise ValueError(f"the values of {attributes[i].name[:40]!r} add up to more than a float32 can hold")
    return sums


def _places(names: list[str], label_names: set[str]) -> list[Place]:
    counts = [0, 0]
    places = []
    for name in names:
        is_label = name in label_names
        places.append(Place(is_label, counts[is_label]))
        counts[is_label] += 1
    return places


def _dataset(
    X: GrowingCSR,
    Y: GrowingCSR,
    attributes: list[Attribute],
    places: list[Place],
    duplicates: tuple[int, int],
    name: str,
) -> Dataset:
    label_names = [a.name for a, place in zip(attributes, places, strict=True) if place.is_label]
    feature_names = [a.name for a, place in zip(attributes, places, strict=True) if not place.is_label]
    if not len(X.lengths):
        raise DataError("has no rows behind @data", path=name)
    features, labels = X.finish(len(feature_names)), Y.finish(len(label_names))
    return Dataset(
        Y=labels,
        X=features,
        label_names=label_names,
        feature_names=feature_names,
        report=report_on(features, labels, *duplicates),
    )


def _header(lines: Iterator[tuple[int, str]], name: str) -> tuple[str, list[Attribute]]:
    """The relation's name and the attributes; stops behind @data."""
    relation = ""
    attributes: list[Attribute] = []
    for number, line in lines:
        word = line.split(None, 1)[0].lower() if line else ""
        if not word or word.startswith("%"):
            continue
        if word == "@relation":
            relation = line
        elif word == "@data":
            if not attributes:
                raise DataError("there is no @attribute before @data", path=name, line=number)
            return relation, attributes
        elif word == "@attribute" and len(attributes) < MAX_COLUMNS:
            try:
                attributes.append(_attribute(line))
            except ValueError as error:
                raise DataError(str(error), path=name, line=number) from None
        else:
            raise DataError(f"expected @attribute or @data, got {line[:40]!r}", path=name, line=number)
    raise DataError("there is no @data: the file is cut off or not ARFF", path=name)


def _attribute(line: str) -> Attribute:
    match = _ATTRIBUTE.fullmatch(line)
    if match is None:
        raise ValueError(f"an attribute needs a name and a type, got {line[:60]!r}")
    name, kind = _plain(match[1]), match[2].strip()
    if kind.lower() in ("numeric", "real", "integer"):
        return Attribute(name)
    if kind.startswith("{") and kind.endswith("}"):
        return Attribute(name, _nominal([_plain(value) for value in _cells(kind[1:-1])]))
    raise ValueError(f"attribute {name[:40]!r} must be numeric or nominal, got {kind[:40]!r}")


def _nominal(values: list[str]) -> dict[str, float]:
    try:
        return {value: parse_number(value) for value in values}
    except ValueError:
        return {value: float(i) for i, value in enumerate(values)}


def _row(line: str, attributes: list[Attribute]) -> list[tuple[int, float]]:
    """(attribute, value) pairs; of a dense row only those that are not zero."""
    if line.startswith("{"):
        if not line.endswith("}"):
            raise ValueError("a sparse row must end in } | the line is cut off")
        return [(i, attributes[i].number(cell)) for i, cell in _pairs(line[1:-1], len(attributes))]
    cells = _cells(line)
    if len(cells) != len(attributes):
        raise ValueError(f"the row has {len(cells):,} values for {len(attributes):,} attributes")
    numbers = ((i, a.number(_plain(cell))) for i, (a, cell) in enumerate(zip(attributes, cells, strict=True)))
    return [(i, value) for i, value in numbers if value]


def _pairs(text: str, n_attributes: int) -> Iterator[tuple[int, str]]:
    text, end = text.strip(), 0
    while end < len(text):
        match = _PAIR.match(text, end)
        if match is None:
            raise ValueError(f"expected 'attribute value', got {text[end : end + 40]!r}")
        if len(match[1]) > 12 or int(match[1]) >= n_attributes:
            raise ValueError(f"attribute {match[1][:20]} is out of range: there are {n_attributes:,}, counted from 0")
        yield int(match[1]), _plain(match[2])
        end = match.end()


def _cells(text: str) -> list[str]:
    if "'" not in text and '"' not in text:
        return [cell.strip() for cell in text.split(",")]
    cells, end = [], 0
    while end < len(text):
        match = _CELL.match(text, end)
        if match is None:
            raise ValueError(f"cannot read {text[end : end + 40]!r}")
        cells.append(match[1])
        end = match.end()
    return cells


def _plain(word: str) -> str:
    """Without quotes and backslashes."""
    return re.sub(r"\\(.)", r"\1", word[1:-1], flags=re.DOTALL) if word[:1] in ("'", '"') else word
