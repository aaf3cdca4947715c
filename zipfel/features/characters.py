"""What a word is: the characters it is made of, their lower case, and texts as bytes for the kernel."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from zipfel.errors import DataError

Array = npt.NDArray[Any]

WORD = re.compile(r"\b\w\w+\b")  # scikit-learn's token_pattern: runs of at least two letters, digits or underscores

_ALL = 0x110000
_CONTEXTUAL = ("\u0130", "\u03a3")  # the two whose lower case is not one character of its own: İ (two), Σ (σ or ς)


class Token(NamedTuple):
    """A word or n-gram as the vocabulary spells it, and its place in the original text."""

    token: str
    start: int
    end: int


@lru_cache(maxsize=2)
def folding(lowercase: bool) -> Array:
    """int32 (0x110000,): the (lower-case) code point of each code point, 0 where that is no part of a word.

    Built from `str.lower` and `re`, so that it agrees with them in whatever version of Unicode this Python has.
    """
    points = np.arange(_ALL, dtype="<u4")
    text = points.tobytes().decode("utf-32-le", "surrogatepass")
    if lowercase:
        for character in _CONTEXTUAL:  # texts with these are lowered before the table is used
            text = text.replace(character, "_")
        text = text.lower()
    fold = np.zeros(_ALL, dtype=np.int32)
    lowered = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.int32)
    for run in re.finditer(r"\w+", text):
        fold[run.start() : run.end()] = lowered[run.start() : run.end()]
    fold.setflags(write=False)
    return fold


def encoded(texts: Sequence[str], lowercase: bool) -> tuple[Array, Array]:
    """(UTF-8 of all texts with a separator behind each, where each ends); `folding` does the rest of the lowering."""
    plain = _joined(texts, lowercase)
    if plain is not None:
        sizes = [1 + len(text if text.isascii() else text.encode("utf-8", "surrogatepass")) for text in texts]
        return np.frombuffer(plain.encode("utf-8", "surrogatepass"), dtype=np.uint8), np.cumsum(sizes, dtype=np.int64)
    parts = [_utf8(text, lowercase) for text in texts]
    ends = np.cumsum([len(part) + 1 for part in parts], dtype=np.int64)
    parts.append(b"")
    return np.frombuffer(b"\n".join(parts), dtype=np.uint8), ends


def _joined(texts: Sequence[str], lowercase: bool) -> str | None:
    """The texts with a separator behind each, or None if one of them has to be looked at by itself."""
    try:
        found = "\n".join([*texts, ""])
    except TypeError:
        return None
    return None if lowercase and any(character in found for character in _CONTEXTUAL) else found


def _utf8(text: str, lowercase: bool) -> bytes:
    if not isinstance(text, str):
        raise DataError(f"a text must be str, got {type(text).__name__}: {text!r:.60}", remedy='use "" for no text')
    if lowercase and not text.isascii() and any(character in text for character in _CONTEXTUAL):
        text = text.lower()
    return text.encode("utf-8", "surrogatepass")


def words(text: str, lowercase: bool) -> Iterator[Token]:
    """The words of one text by `re`, with their places in `text` itself: lower case can be longer than the original."""
    lowered = text.lower() if lowercase else text
    origin: Sequence[int] = range(len(text))
    if len(lowered) != len(text):
        origin = [i for i, character in enumerate(text) for _ in character.lower()]
    for found in WORD.finditer(lowered):
        yield Token(found[0], origin[found.start()], origin[found.end() - 1] + 1)
