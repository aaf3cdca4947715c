"""Vocabularies as tables: Annif's TSV and CSV, and JSON lines.

TSV: `<URI>` TAB name TAB notation, no header. CSV (or TSV with a header): uri, notation, label_en, label_de, ...
JSONL: {"id", "label" or "labels" by language, "alt_labels", "broader", "notation"} a line.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from zipfel.data.streams import Stream
from zipfel.data.table import table_rows
from zipfel.data.vocabulary import NO_LANGUAGE, Concept, clean_id
from zipfel.errors import DataError

_ID_COLUMNS = ("uri", "id")
_LABEL = "label"


def read_tsv(stream: Stream) -> Iterator[Concept]:
    for number, line in stream.lines():
        if not line.strip():
            continue
        cells = [cell.strip() for cell in line.split("\t")]
        if not clean_id(cells[0]):
            raise DataError("the identifier is empty", path=stream.name, line=number, remedy="<URI> TAB name")
        concept = Concept(clean_id(cells[0]))
        if len(cells) > 1:
            concept.add_name(cells[1])
        concept.notation = cells[2] or None if len(cells) > 2 else None
        yield concept


def has_header(first: str, separator: str) -> bool:
    """Whether the first line of a table names its columns."""
    cells = [cell.strip().strip('"').lower() for cell in first.split(separator)]
    return any(name in cells for name in _ID_COLUMNS) and any(cell.startswith(_LABEL) for cell in cells)


def read_csv(stream: Stream, separator: str) -> Iterator[Concept]:
    rows = table_rows(stream, separator)
    header = [cell.strip().lower() for cell in next(rows, (1, [""]))[1]]
    place = next((header.index(name) for name in _ID_COLUMNS if name in header), None)
    if place is None:
        there = ", ".join(map(repr, header[:12])) or "none"
        raise DataError(f"there is no column uri; the columns are {there}", path=stream.name, line=1)
    languages = {i: name.removeprefix(_LABEL)[1:] for i, name in enumerate(header) if _is_label(name)}
    for number, row in rows:
        if len(row) != len(header):
            message = f"the row has {len(row)} cells but the header has {len(header)}"
            raise DataError(message, path=stream.name, line=number)
        yield _concept_of_row(row, header, clean_id(row[place]), languages)


def _is_label(column: str) -> bool:
    return column == _LABEL or column.startswith(_LABEL + "_")


def _concept_of_row(row: list[str], header: list[str], name: str, languages: dict[int, str]) -> Concept:
    concept = Concept(name)
    for i, language in languages.items():
        concept.add_name(row[i].strip(), language)
    if "notation" in header:
        concept.notation = row[header.index("notation")].strip() or None
    return concept


def read_jsonl(stream: Stream) -> Iterator[Concept]:
    for number, line in stream.lines():
        if not line or line.isspace():
            continue
        try:
            yield _concept_of_object(json.loads(line))
        except RecursionError:
            raise DataError("the JSON is nested too deeply", path=stream.name, line=number) from None
        except json.JSONDecodeError as error:
            message = f"this is not JSON: {error.msg} at character {error.pos + 1}"
            raise DataError(message, path=stream.name, line=number, remedy="one whole object a line") from None
        except ValueError as error:
            remedy = '{"id": "...", "label": "...", "alt_labels": ["..."]}'
            raise DataError(str(error), path=stream.name, line=number, remedy=remedy) from None


def _concept_of_object(row: Any) -> Concept:
    if not isinstance(row, dict):
        raise ValueError("a line must be an object")
    name = row.get("id", row.get("uri"))
    if not isinstance(name, str | int) or isinstance(name, bool) or not clean_id(str(name)):
        raise ValueError(f'"id" must be text, got {name!r:.40}')
    concept = Concept(clean_id(str(name)))
    for key in ("label", "labels"):
        for language, label in _by_language(row.get(key), key):
            concept.add_name(label, language)
    for language, label in _by_language(row.get("alt_labels"), "alt_labels"):
        concept.add_alt_name(label, language)
    concept.broader = [clean_id(wider) for _, wider in _by_language(row.get("broader"), "broader")]
    notation = row.get("notation")
    if notation is not None and (not isinstance(notation, str | int) or isinstance(notation, bool)):
        raise ValueError(f'"notation" must be text, got {notation!r:.40}')
    concept.notation = str(notation) if notation not in (None, "") else None
    return concept


def _by_language(value: Any, key: str) -> Iterator[tuple[str, str]]:
    """(language, text) from a text, a list of texts, or either by language."""
    pairs: Iterable[tuple[Any, Any]] = value.items() if isinstance(value, dict) else [(NO_LANGUAGE, value)]
    for language, texts in pairs:
        for text in texts if isinstance(texts, list) else [texts]:
            if text is None:
                continue
            if not isinstance(text, str):
                raise ValueError(f'"{key}" must hold texts, got {text!r:.40}')
            if tidy := " ".join(text.split()):
                yield language.lower(), tidy
