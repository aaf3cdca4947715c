"""SKOS in Turtle or N-Triples, read without an RDF library: only what concepts need, some seconds for 200,000 of them.

One regular expression cuts the text into tokens; a small machine with a stack follows subject, predicate and object
through lists and brackets. rdflib takes 43 s and 1.7 GB for the same 200,000 concepts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urljoin

from zipfel.data.skos import TYPE, WANTED, Triples
from zipfel.errors import DataError

_TOKEN = re.compile(
    r"""\s*(?:\#[^\n]*(?:\n\s*|\Z))*(?:<(?P<iri>[^<>"{}|^`\x00-\x20]*)>
    |(?P<long>\"{3}[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*\"{3}|'{3}[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'{3})
    |(?P<short>"[^"\\]*(?:\\.[^"\\]*)*"|'[^'\\]*(?:\\.[^'\\]*)*')
    |@(?P<at>[A-Za-z]+(?:-[A-Za-z0-9]+)*)
    |(?P<typed>\^\^)
    |(?P<blank>_:[^\s;,()\[\]"<]+)
    |(?P<number>[+-]?(?:\d*\.\d+|\d+)(?:[eE][+-]?\d+)?(?![\w:]))
    |(?P<mark>[;,.\[\]()])
    |(?P<name>(?:[^\W\d_][\w.\-]*)?:(?:(?:[\w:%\-]|\\[^\s])(?:(?:[\w:.%\-]|\\[^\s])*(?:[\w:%\-]|\\[^\s]))?)?)
    |(?P<word>[A-Za-z]+)|(?P<end>\Z)|(?P<wrong>.))""",
    re.VERBOSE | re.DOTALL,
)
"""White space and comments, then a token. A line end inside of quotation marks is against the rules, but occurs.
The last two alternatives take whatever is left, so that no text makes it search back."""
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.DOTALL)
_PLAIN = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}
_MAX_DEPTH = 1000
_BLANK = "_:[]"


def read_turtle(text: str, name: str) -> Triples:
    """name: what errors call the file."""
    return _Turtle(text, name).read()


class _Turtle:
    """What is expected next, `_state`: 0 subject, 1 predicate, 2 object, 3 a mark behind an object."""

    def __init__(self, text: str, name: str) -> None:
        self._text, self._name = text, name
        self._triples = Triples()
        self._prefixes: dict[str, str] = {}
        self._base = ""
        self._iris: dict[str, str] = {}
        self._state, self._subject, self._predicate = 0, "", ""
        self._stack: list[tuple[str, int, str, str]] = []
        self._literal: str | None = None
        self._language = ""
        self._directive: list[str] | None = None
        self._after_type = False

    def read(self) -> Triples:
        handlers: dict[str, Callable[[str], None]] = {
            "iri": self._iri,
            "long": lambda word: self._text_literal(word[3:-3]),
            "short": lambda word: self._text_literal(word[1:-1]),
            "at": self._at,
            "typed": lambda _: self._type_follows(),
            "blank": self._resource,
            "number": self._value,
            "mark": self._mark,
            "name": self._prefixed,
            "word": self._word,
            "wrong": self._wrong,
            "end": lambda _: None,
        }
        text, at = self._text, 0
        try:
            for found in _TOKEN.finditer(text):
                kind = found.lastgroup or "end"
                at = found.start(kind)
                handlers[kind](found[kind])
            if self._state or self._stack or self._directive:
                raise ValueError("the file ends inside of a statement")
        except ValueError as error:
            line = text.count("\n", 0, at) + 1
            raise DataError(str(error), path=self._name, line=line) from None
        return self._triples

    # -- tokens

    def _iri(self, word: str) -> None:
        if "\\" in word:
            word = _unescaped(word)
        if self._directive is not None:
            self._direct(word)
            return
        self._resource(urljoin(self._base, word) if self._base and ":" not in word else word)

    def _prefixed(self, word: str) -> None:
        if self._directive is not None:
            self._direct(word)
            return
        full = self._iris.get(word)
        if full is None:
            prefix, _, local = word.partition(":")
            if prefix not in self._prefixes:
                raise ValueError(f"the prefix {prefix + ':'!r} is not declared")
            full = self._prefixes[prefix] + re.sub(r"\\(.)", r"\1", local)
            if self._state == 1:  # few predicates occur often; subjects are too many to keep
                self._iris[word] = full
        self._resource(full)

    def _word(self, word: str) -> None:
        if word == "a" and self._state == 1:
            self._resource(TYPE)
        elif word in {"true", "false"}:
            self._value(word)
        elif word.upper() in {"PREFIX", "BASE"} and self._state == 0:
            self._directive = [word.upper()]
        else:
            raise ValueError(f"{word!r} is not Turtle here")

    def _wrong(self, character: str) -> None:
        raise ValueError(f"{character!r} is not Turtle here")

    def _at(self, word: str) -> None:
        if word in {"prefix", "base"} and self._state == 0:
            self._directive = ["@" + word.upper()]
        elif self._literal is not None:
            self._language = word
        else:
            raise ValueError(f"@{word} stands behind no text")

    def _direct(self, word: str) -> None:
        """The parts of a declaration of a prefix or base."""
        assert self._directive is not None
        self._directive.append(word)
        kind = self._directive[0]
        if len(self._directive) == (2 if kind.endswith("BASE") else 3):
            if kind.endswith("BASE"):
                self._base = word
            else:
                prefix = self._directive[1]
                if not prefix.endswith(":"):
                    raise ValueError(f"{prefix!r} is no prefix: it must end in a colon")
                self._prefixes[prefix[:-1]] = urljoin(self._base, word) if self._base and ":" not in word else word
                self._iris = {}
            self._directive = ["."] if kind.startswith("@") else None

    def _text_literal(self, body: str) -> None:
        if self._state != 2:
            raise ValueError("a text stands where none may be")
        self._literal, self._language = _unescaped(body) if "\\" in body else body, ""
        self._end_object()

    def _type_follows(self) -> None:
        if self._literal is None:
            raise ValueError("^^ stands behind no text")
        self._after_type = True

    def _value(self, word: str) -> None:
        if self._state != 2:
            raise ValueError(f"{word!r} stands where none may be")
        self._literal, self._language = word, ""
        self._end_object()

    def _resource(self, word: str) -> None:
        if self._after_type:
            self._after_type = False
        elif self._state == 0:
            self._subject, self._state = word, 1
        elif self._state == 1:
            self._predicate, self._state = word, 2
        elif self._state == 2:
            self._add(word)
            self._end_object()
        else:
            raise ValueError(f"{word!r:.60} stands where ';', ',' or '.' is expected")

    def _add(self, value: str, language: str = "") -> None:
        if self._predicate in WANTED and not self._subject.startswith("_:"):
            self._triples.add(self._subject, self._predicate, value, language)

    def _mark(self, mark: str) -> None:
        if self._directive == ["."] and mark == ".":
            self._directive = None
            return
        if self._directive is not None:
            raise ValueError(f"{mark!r} stands inside of a declaration")
        if mark in "[(":
            self._open(mark)
            return
        self._finish_literal()
        if mark in "])":
            self._close(mark)
        elif mark == "," and self._state == 3:
            self._state = 2
        elif mark == ";" and self._state in {1, 3}:
            self._state = 1
        elif mark == "." and self._state in {1, 3} and not self._stack:
            self._state = 0
        else:
            raise ValueError(f"{mark!r} stands where it may not be")

    def _finish_literal(self) -> None:
        if self._literal is not None:
            self._add(self._literal, self._language)
            self._literal = None

    def _end_object(self) -> None:
        """Another object may follow at once in a list; elsewhere a mark must."""
        self._state = 2 if self._stack and self._stack[-1][0] == "(" else 3

    def _open(self, mark: str) -> None:
        if len(self._stack) >= _MAX_DEPTH:
            raise ValueError(f"brackets are nested more than {_MAX_DEPTH} deep")
        if self._state not in {0, 2}:
            raise ValueError(f"{mark!r} stands where it may not be")
        self._stack.append((mark, self._state, self._subject, self._predicate))
        self._subject, self._predicate = _BLANK, ""
        self._state = 1 if mark == "[" else 2

    def _close(self, mark: str) -> None:
        if not self._stack or self._stack[-1][0] != ("[" if mark == "]" else "("):
            raise ValueError(f"{mark!r} closes nothing")
        if self._state == 2 and mark == "]":
            raise ValueError("']' stands where an object is expected")
        _, before, self._subject, self._predicate = self._stack.pop()
        if before == 2:
            self._end_object()
        else:
            self._subject, self._state = _BLANK, 1


def _unescaped(body: str) -> str:
    return _ESCAPE.sub(_character, body)


def _character(found: re.Match[str]) -> str:
    code = found[1]
    if code[0] in "uU" and len(code) > 1:
        point = int(code[1:], 16)
        if point > 0x10FFFF or 0xD800 <= point < 0xE000:
            raise ValueError(f"\\{code} is no character")
        return chr(point)
    return _PLAIN.get(code, code)
