"""A controlled vocabulary: concepts with identifiers, names by language, broader concepts and notations."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from zipfel.errors import ModelFileError

NO_LANGUAGE = ""
"""Key of names whose language the file does not tell."""
_SORTED = 1000
"""Matches of a search among which the shortest names come first."""


@dataclass
class Concept:
    """One subject, category or tag.

    id: identifier, e.g. a URI. names: language -> preferred name. alt_names: language -> further names.
    broader: identifiers of broader concepts. notation: a short code.

    >>> Concept("http://example.org/1", {"en": "apple", "de": "Apfel"}, notation="F1").name("de")
    'Apfel'
    """

    id: str
    names: dict[str, str] = field(default_factory=dict)
    alt_names: dict[str, list[str]] = field(default_factory=dict)
    broader: list[str] = field(default_factory=list)
    notation: str | None = None

    def add_name(self, name: str, language: str = NO_LANGUAGE) -> None:
        """Adds a preferred name. A second one of the same language becomes an alternative.

        name: the name; language: its code, "" if unknown.

        >>> apple = Concept("1")
        >>> apple.add_name("apple", "en")
        >>> apple.add_name("apples", "en")
        >>> apple.names, apple.alt_names
        ({'en': 'apple'}, {'en': ['apples']})
        """
        if name and self.names.setdefault(language, name) != name:
            self.add_alt_name(name, language)

    def add_alt_name(self, name: str, language: str = NO_LANGUAGE) -> None:
        """Adds a further name. name: the name; language: its code, "" if unknown.

        >>> apple = Concept("1", {"en": "apple"})
        >>> apple.add_alt_name("apples", "en")
        >>> apple.alt_names
        {'en': ['apples']}
        """
        known = self.alt_names.setdefault(language, [])
        if name and name not in known:
            known.append(name)

    def name(self, language: str | None = None) -> str:
        """The preferred name in a language. If there is none: the one without a language, the English one, any, the id.

        >>> Concept("1", {"en": "apple"}).name("de")
        'apple'
        """
        for asked in (language, NO_LANGUAGE, "en"):
            if asked is not None and asked in self.names:
                return self.names[asked]
        return next(iter(self.names.values()), self.id)

    def all_names(self) -> list[tuple[str, str, bool]]:
        """(name, language, whether it is preferred) of all names.

        >>> Concept("1", {"en": "apple"}, {"en": ["apples"]}).all_names()
        [('apple', 'en', True), ('apples', 'en', False)]
        """
        preferred = [(name, language, True) for language, name in self.names.items()]
        return preferred + [(n, language, False) for language, names in self.alt_names.items() for n in names]


class Vocabulary:
    """Concepts by position. In a fitted model concept i is label i.

    >>> fruit = Concept("http://example.org/1", {"en": "apple", "de": "Apfel"})
    >>> vocabulary = Vocabulary([fruit])
    >>> vocabulary.name(0, "de"), vocabulary.identifier(0), vocabulary.find("apf")
    ('Apfel', 'http://example.org/1', [0])
    >>> vocabulary.languages, vocabulary.positions
    (['de', 'en'], {'http://example.org/1': 0})

    concepts: in the order of their positions. label: a position, which is the label's id in a model.
    language: a code such as "en"; None: any.
    """

    def __init__(self, concepts: Sequence[Concept]) -> None:
        self.concepts = list(concepts)

    def __len__(self) -> int:
        return len(self.concepts)

    @cached_property
    def positions(self) -> dict[str, int]:
        """Identifier -> position."""
        return {concept.id: i for i, concept in enumerate(self.concepts)}

    @cached_property
    def languages(self) -> list[str]:
        """All languages of preferred names, the most frequent first."""
        counts: dict[str, int] = {}
        for concept in self.concepts:
            for language in concept.names:
                counts[language] = counts.get(language, 0) + 1
        return sorted(counts, key=lambda language: (-counts[language], language))

    def identifier(self, label: int) -> str:
        """The identifier of a concept by its position, e.g. its URI.

        >>> Vocabulary([Concept("http://example.org/1")]).identifier(0)
        'http://example.org/1'
        """
        return self.concepts[label].id

    def name(self, label: int, language: str | None = None) -> str:
        """The preferred name of a concept by its position; `Concept.name` has the order if the language has none.

        >>> Vocabulary([Concept("1", {"en": "apple"})]).name(0)
        'apple'
        """
        return self.concepts[label].name(language)

    def notation(self, label: int) -> str | None:
        """The notation of a concept by its position, or None.

        >>> Vocabulary([Concept("1", notation="F1")]).notation(0)
        'F1'
        """
        return self.concepts[label].notation

    def find(self, query: str, language: str | None = None, limit: int = 20) -> list[int]:
        """Positions of concepts with a name that equals the query, begins with it, or has a word that begins with it.

        They come in this order, the shortest names first. Identifiers and notations count if they equal the query.
        limit: the most positions.

        >>> Vocabulary([Concept("1", {"en": "red apple"}), Concept("2", {"en": "pear"})]).find("app")
        [0]
        """
        folded = " ".join(query.split()).casefold()
        if not folded or limit < 1:
            return []
        names = self._names_of(language if language in self.languages else None)
        found = dict.fromkeys(self._by_code.get(folded, []))
        for pattern in (f"\n{folded}\n", f"\n{folded}", f" {folded}"):
            if len(found) >= limit:
                break
            found |= dict.fromkeys(names.matches(pattern))
        return list(found)[:limit]

    @cached_property
    def _by_code(self) -> dict[str, list[int]]:
        codes: dict[str, list[int]] = {}
        for i, concept in enumerate(self.concepts):
            for code in {concept.id, concept.notation} - {None, ""}:
                codes.setdefault(str(code).casefold(), []).append(i)
        return codes

    @cached_property
    def _searched(self) -> dict[str | None, _Names]:
        return {}

    def _names_of(self, language: str | None) -> _Names:
        if language not in self._searched:
            wanted = {language, NO_LANGUAGE}
            pairs = (
                (i, name)
                for i, concept in enumerate(self.concepts)
                for name, its_language, _ in concept.all_names()
                if language is None or its_language in wanted
            )
            self._searched[language] = _Names.of(pairs)
        return self._searched[language]

    # -- keeping

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON, as lists by position.

        >>> Vocabulary([Concept("1", {"en": "apple"})]).to_json()["names"]
        {'en': ['apple']}
        """
        concepts, languages = self.concepts, sorted({name for c in self.concepts for _, name, _ in c.all_names()})
        return {
            "ids": [c.id for c in concepts],
            "names": {name: [c.names.get(name) for c in concepts] for name in languages},
            "alt_names": {
                name: {str(i): c.alt_names[name] for i, c in enumerate(concepts) if c.alt_names.get(name)}
                for name in languages
            },
            "broader": {str(i): c.broader for i, c in enumerate(concepts) if c.broader},
            "notations": {str(i): c.notation for i, c in enumerate(concepts) if c.notation is not None},
        }

    @classmethod
    def from_json(cls, state: Any, size: int | None = None) -> Vocabulary:
        """The counterpart of `to_json`. Every value is checked, because a model file may come from anywhere.

        state: what `to_json` gave; size: concepts that there must be, None for any number.

        >>> Vocabulary.from_json(Vocabulary([Concept("1")]).to_json(), size=1).identifier(0)
        '1'
        """
        try:
            concepts = [Concept(_text(name)) for name in _list(state["ids"])]
            if size is not None and len(concepts) != size:
                raise ValueError(f"it has {len(concepts)} concepts, not {size}")
            for language, names in state["names"].items():
                for concept, name in zip(concepts, _list(names), strict=True):
                    if name is not None:
                        concept.names[language] = _text(name)
            for language, by_place in state["alt_names"].items():
                for i, names in by_place.items():
                    concepts[_place(i)].alt_names[language] = [_text(name) for name in _list(names)]
            for i, broader in state["broader"].items():
                concepts[_place(i)].broader = [_text(name) for name in _list(broader)]
            for i, notation in state["notations"].items():
                concepts[_place(i)].notation = _text(notation)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise ModelFileError(f"vocabulary.json of the model is damaged: {error!r:.100}") from None
        return cls(concepts)


@dataclass(frozen=True)
class _Names:
    """Folded names in one string, each between line ends, and where each begins."""

    text: str
    starts: list[int]
    owners: list[int]

    @classmethod
    def of(cls, pairs: Iterable[tuple[int, str]]) -> _Names:
        parts, starts, owners, at = ["\n"], [], [], 0
        for owner, name in pairs:
            folded = " ".join(name.split()).casefold()
            starts.append(at)
            owners.append(owner)
            parts.append(folded + "\n")
            at += len(folded) + 1
        return cls("".join(parts), starts, owners)

    def matches(self, pattern: str) -> list[int]:
        """Owners of names with the pattern, the shortest name first; of very many only the first ones."""
        found: list[tuple[int, int]] = []
        at = self.text.find(pattern)
        while at >= 0 and len(found) < _SORTED:
            place = bisect_right(self.starts, at) - 1
            end = self.text.index("\n", at + 1)
            found.append((end - self.starts[place], self.owners[place]))
            at = self.text.find(pattern, at + 1)
        return [owner for _, owner in sorted(found)]


def clean_id(word: str) -> str:
    """An identifier without the angle brackets that Annif's files put around URIs.

    >>> clean_id("<http://example.org/1>")
    'http://example.org/1'
    """
    word = word.strip()
    return word[1:-1] if word.startswith("<") and word.endswith(">") else word


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"text expected, got {value!r:.40}")
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(f"a list expected, got {value!r:.40}")
    return value


def _place(word: str) -> int:
    if not (word.isascii() and word.isdigit() and len(word) < 12):
        raise ValueError(f"a position expected, got {word!r:.40}")
    return int(word)


def by_id(rows: Iterable[Concept]) -> Mapping[str, Concept]:
    """Concepts by identifier, in the order of appearance; those that occur twice are joined."""
    found: dict[str, Concept] = {}
    for row in rows:
        concept = found.setdefault(row.id, row)
        if concept is not row:
            for name, language, preferred in row.all_names():
                (concept.add_name if preferred else concept.add_alt_name)(name, language)
            concept.broader += [broader for broader in row.broader if broader not in concept.broader]
            concept.notation = concept.notation or row.notation
    return found
