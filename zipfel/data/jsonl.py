"""JSON lines: {"text": "...", "labels": ["a", "b"], "id": "..."} a line; id is optional, blank lines are skipped.

A row may have "features": {"12": 0.5} instead of a text, or besides it. The keys are column numbers, counted from 0.
`write` writes features if a data set has no texts. Labels and ids may be numbers; null or [] is a row without labels. A
label may be an object with a "uri", "id" or "label", as Annif writes its subjects.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from zipfel.data.dataset import Dataset
from zipfel.data.documents import ID_FIELDS, LABEL_FIELDS, Documents, Fields, joined_text, pick, pick_texts
from zipfel.data.growing import GrowingCSR
from zipfel.data.plain_rows import MAX_COLUMNS, MAX_FLOAT32
from zipfel.data.streams import Stream
from zipfel.data.vocabulary import clean_id
from zipfel.errors import DataError

FEATURES = "features"
_NAMING = ("uri", "id", "label")
"""What names a label that is an object, the first that is there."""


def read_jsonl(stream: Stream, fields: Fields) -> Dataset:
    rows = _Rows(fields)
    for number, line in stream.lines():
        if not line or line.isspace():
            continue
        try:
            rows.add(line, number)
        except (ValueError, RecursionError) as error:
            message, _, remedy = words_of(error).partition(" | ")
            raise DataError(message, path=stream.name, line=number, remedy=remedy) from None
    return rows.dataset(stream.name)


def words_of(error: Exception) -> str:
    """What is wrong with a line, and the remedy behind " | "."""
    if isinstance(error, json.JSONDecodeError):
        return f"this is not JSON: {error.msg} at character {error.pos + 1} | one whole object a line"
    return "the JSON is nested too deeply" if isinstance(error, RecursionError) else str(error)


class _Rows:
    """Objects on their way to a data set."""

    def __init__(self, fields: Fields) -> None:
        self._fields = fields
        self._documents = Documents()
        self._features: GrowingCSR | None = None
        self._guessed = ""

    def add(self, line: str, number: int) -> None:
        row = _object(line)
        document, labels = _document(row, self._fields), self._labels(row)
        features = document.features
        if features is not None and self._features is None and len(self._documents):
            raise ValueError('this row has "features" but those before it have none | give all of them features')
        if features is None and self._features is not None:
            raise ValueError('this row has no "features" but those before it have | give all of them features')
        if features is not None:
            if self._features is None:
                self._features = GrowingCSR()
            self._features.append([len(features)], list(features), list(features.values()))
        if not len(self._documents) and len(document.fields) > 1:
            self._guessed = f"text: {' + '.join(document.fields)}"
        self._documents.add(document.text, labels, document.id, number)

    def dataset(self, name: str) -> Dataset:
        X = None if self._features is None else self._features.finish()
        return self._documents.dataset(name, X=X, guessed=self._guessed)

    def _labels(self, row: dict[str, Any]) -> list[str]:
        key = pick(self._fields.labels, LABEL_FIELDS, row)
        if key is None:
            if not self._fields.need_labels:
                return []
            raise ValueError(_missing("labels", self._fields.labels or "labels", row, "label_column"))
        labels = row[key]
        if labels is None:
            return []
        if isinstance(labels, str) and self._fields.label_separator:
            labels = [label for part in labels.split(self._fields.label_separator) if (label := part.strip())]
        if not isinstance(labels, list):
            raise ValueError(f'"{key}" must be a list of names, got {_kind(labels)} | ["one", "two"]')
        return [label if type(label) is str else _label(label) for label in labels]


@dataclass(frozen=True)
class JsonDocument:
    """An object without its labels. fields: those that its text comes from. features: by column, sorted, none zero."""

    text: str
    id: str | None
    features: dict[int, float] | None
    fields: tuple[str, ...]


def parse_document(line: str, fields: Fields) -> JsonDocument:
    """Parses one line; its labels are ignored. Raises ValueError("what is wrong | what to do") or RecursionError."""
    return _document(_object(line), fields)


def _object(line: str) -> dict[str, Any]:
    row = _DECODER.decode(line)
    if not isinstance(row, dict):
        raise ValueError(f"a line must be an object, got {_kind(row)} | " + '{"text": ..., "labels": [...]}')
    return row


def _document(row: dict[str, Any], fields: Fields) -> JsonDocument:
    features, name = row.get(FEATURES), pick(fields.id, ID_FIELDS, row)
    keys = pick_texts(fields.text, row)
    if not keys and features is None:
        raise ValueError(_missing("text", fields.text or "text", row, "text_column"))
    for key in keys:
        if not isinstance(row[key], str):
            raise ValueError(f'"{key}" must be text, got {_kind(row[key])}')
    return JsonDocument(
        row[keys[0]] if len(keys) == 1 else joined_text(row[key] for key in keys),
        None if name is None else _scalar(row[name], "the id"),
        None if features is None else _columns(features),
        keys,
    )


def _columns(features: Any) -> dict[int, float]:
    if not isinstance(features, dict):
        raise ValueError(f'"features" must be an object of column: value, got {_kind(features)}')
    row = {_column(key): _value(key, value) for key, value in features.items()}
    return {column: row[column] for column in sorted(row) if row[column]}


def _column(key: str) -> int:
    if not (key.isascii() and key.isdigit() and len(key) < 12 and int(key) < MAX_COLUMNS):
        raise ValueError(f"a feature's key must be a column number below {MAX_COLUMNS:,}, got {key[:40]!r}")
    return int(key)


def _value(key: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < MAX_FLOAT32:
        raise ValueError(f"feature {key[:40]} must have a finite number, got {_kind(value)}")
    return float(value)


def _scalar(value: Any, what: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, float) and math.isfinite(value):
        return str(value)
    raise ValueError(f"{what} must be text or a number, got {_kind(value)}")


def _label(value: Any) -> str:
    """A name, a number, or an object that names a concept, as Annif writes it: {"uri": ..., "label": ...}."""
    if isinstance(value, dict):
        named = next((value[key] for key in _NAMING if isinstance(value.get(key), str)), None)
        if named is None:
            raise ValueError(f"a label that is an object must have one of {', '.join(_NAMING)}")
        return clean_id(named)
    return _scalar(value, "a label")


def _missing(what: str, key: str, row: dict[str, Any], option: str) -> str:
    there = ", ".join(repr(name[:40]) for name in list(row)[:8]) or "nothing"
    flag = "--" + option.replace("_", "-")
    return f'there is no field "{key}"; the object has {there} | name the {what} field with {option}, or {flag}'


def _kind(value: Any) -> str:
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    return "null" if value is None else repr(value)[:40]


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number that JSON knows")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)
