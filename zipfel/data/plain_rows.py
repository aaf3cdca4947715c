"""One line of "l1,l2 f:v f:v" in plain Python: the slow twin of the kernel, which knows words for every fault."""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_COLUMNS = 100_000_000  # features or labels
MAX_FLOAT32 = 3.4028235677973366e38  # from here on a number rounds to an infinite float32

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_WHOLE = re.compile(r"[0-9]+")


@dataclass(frozen=True)
class Layout:
    """What the lines of a file look like.

    n_features, n_labels: ids must stay below. n_rows: what the header says. headless: svmlight, where '#' begins a
    comment and empty lines are no rows. column_noun: what stands before a colon, for messages.
    """

    has_labels: bool = True
    headless: bool = False
    n_features: int = MAX_COLUMNS
    n_labels: int = MAX_COLUMNS
    n_rows: int | None = None
    column_noun: str = "feature"


def parse_line(line: str, layout: Layout) -> tuple[list[int], dict[int, float]] | None:
    """(labels, {feature: value}) of one line without its newline, or None where it is no row.

    Raises ValueError("what is wrong | what to do").
    """
    if layout.headless and (line in ("", "\r") or line.startswith("#")):
        return None
    if layout.headless:
        line = line.partition("#")[0]
    words = re.split(r"[ \t\r]+", line)
    labels: list[int] = []
    if words[0] and ":" not in words[0] and layout.has_labels:
        labels = sorted({_id(word, "label", layout.n_labels) for word in words[0].split(",")})
        words = words[1:]
    features: dict[int, float] = {}
    for word in filter(None, words):
        column, value = _feature(word, layout)
        features[column] = features.get(column, 0.0) + value
        if abs(features[column]) >= MAX_FLOAT32:
            raise ValueError(f"the values of {layout.column_noun} {column} add up to more than a float32 can hold")
    return labels, {column: value for column, value in sorted(features.items()) if value}


def _feature(word: str, layout: Layout) -> tuple[int, float]:
    noun = layout.column_noun
    column, colon, value = word.partition(":")
    if not colon:
        raise ValueError(f"{_short(word)} is not of the form {noun}:value")
    return _id(column, noun, layout.n_features), parse_number(value)


def _id(word: str, noun: str, bound: int) -> int:
    if not _WHOLE.fullmatch(word):
        raise ValueError(f"the {noun} id must be a whole number from 0, got {_short(word)}")
    if len(word) > 12 or int(word) >= bound:
        rule = "zipfel takes ids below" if bound == MAX_COLUMNS else "the header allows ids below"
        raise ValueError(f"{noun} id {word[:20]} is out of range: {rule} {bound:,} | ids count from 0")
    return int(word)


def parse_number(word: str) -> float:
    """A finite decimal number that a float32 can hold."""
    if not _NUMBER.fullmatch(word):
        raise ValueError(f"a value must be a finite number, got {_short(word)} | remove the entry or mend its value")
    value = float(word)
    if abs(value) >= MAX_FLOAT32:
        raise ValueError(f"the value {_short(word)} is more than a float32 can hold | scale the values")
    return value


def _short(word: str) -> str:
    return repr(word if len(word) <= 40 else word[:40] + "...")
