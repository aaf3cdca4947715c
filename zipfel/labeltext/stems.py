"""Words of a text and their stems: what stays the same when a word is inflected.

The built-in stemmer cuts the endings of nouns and adjectives in English, German and the Romance languages, after J.
Savoy's light stemmers (2006). The package `snowballstemmer`, if it is installed and chosen, has a stemmer for each of
30 languages.
"""

from __future__ import annotations

import importlib
import re
import unicodedata
from collections.abc import Callable

from zipfel.errors import ParameterError, ZipfelError

Stemmer = Callable[[str], str]
WORD = re.compile(r"[^\W_]+")
"""A run of letters and digits: names such as "C 60" and "Vitamin K2" count by every sign."""
LIGHT = "light"
_SNOWBALL = "snowball:"
_LONGEST = 64
"""Letters of a word that count."""
_ENDINGS = ("innen", "ern", "em", "en", "er", "es", "e", "n")
_LEAST = 3
"""Letters that an ending leaves at least."""


def words_of(text: str) -> list[str]:
    """The words as they stand in the text.

    >>> words_of("High-Energy Physics: C60")
    ['High', 'Energy', 'Physics', 'C60']
    """
    return WORD.findall(text)


def folded(word: str) -> str:
    """The word in lower case and without accents.

    >>> folded("Häuser"), folded("Straße")
    ('hauser', 'strasse')
    """
    low = word[:_LONGEST].casefold()
    if low.isascii():
        return low
    return "".join(sign for sign in unicodedata.normalize("NFKD", low) if not unicodedata.combining(sign))


def light_stem(word: str) -> str:
    """The folded word without its ending: first an s, then one of `_ENDINGS`.

    >>> [light_stem(word) for word in ("hauser", "haus", "studies", "study", "netzes", "netzen", "politischer")]
    ['haus', 'haus', 'studi', 'studi', 'netz', 'netz', 'politisch']
    """
    if len(word) <= _LEAST or word[-1].isdigit() or word.endswith("ss"):
        return word
    if word.endswith("s") and len(word) > _LEAST + 1:
        word = word[:-1]
    if word.endswith("y"):
        return word[:-1] + "i"
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST:
            return word[: -len(ending)]
    return word


def make_stemmer(name: str) -> Stemmer:
    """`light`, or `snowball:LANGUAGE`; takes folded words."""
    if name == LIGHT:
        return light_stem
    language = name.removeprefix(_SNOWBALL)
    if language == name:
        raise ParameterError(f"stems must be {LIGHT} or {_SNOWBALL}LANGUAGE, e.g. {_SNOWBALL}german; got {name!r:.60}")
    try:
        module = importlib.import_module("snowballstemmer")
    except ImportError:
        raise ZipfelError(f"stems {name} need the text extra: pip install 'zipfel[text]'") from None
    if language not in module.algorithms():
        raise ParameterError(f"snowballstemmer has no language {language!r:.40}: {', '.join(module.algorithms())}")
    found: Stemmer = module.stemmer(language).stemWord
    return found
