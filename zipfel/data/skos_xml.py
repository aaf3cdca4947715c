"""SKOS in RDF/XML, read by expat as a stream of elements: only what concepts need.

Untrusted files are safe to read: the parser fetches nothing, and it accepts only short and flat entities, such as
abbreviations of namespaces.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urljoin
from xml.parsers import expat

from zipfel.data.skos import RDF, TYPE, WANTED, Triples
from zipfel.data.streams import Stream
from zipfel.errors import DataError

_XML = "http://www.w3.org/XML/1998/namespace"
_BLOCK = 1 << 18
_MAX_DEPTH, _MAX_ENTITIES, _MAX_ENTITY = 10_000, 1000, 300
_RDF_ROOT, _DESCRIPTION = RDF + "RDF", RDF + "Description"


class _Element(NamedTuple):
    """is_node: a resource; else a property, whose predicate is `uri`. subject: of a node its identifier, of a property
    that of its node. text: of a property that may have one."""

    is_node: bool
    uri: str
    subject: str
    language: str
    base: str
    text: list[str] | None


def read_rdf_xml(stream: Stream) -> Triples:
    reader = _Reader()
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.characters
    parser.EntityDeclHandler = reader.entity
    parser.ExternalEntityRefHandler = lambda *_: 0
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    try:
        while block := stream.read(_BLOCK):
            parser.Parse(block, False)
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        message = expat.errors.messages[error.code]
        raise DataError(f"this is not XML: {message}", path=stream.name, line=error.lineno) from None
    except ValueError as error:
        raise DataError(str(error), path=stream.name, line=parser.CurrentLineNumber) from None
    if not reader.has_root:
        raise DataError("this is not RDF/XML: it has no element rdf:RDF", path=stream.name, line=1)
    return reader.triples


class _Reader:
    """Nodes and properties alternate: a node holds properties, a property holds a text or nodes."""

    def __init__(self) -> None:
        self.triples = Triples()
        self.has_root = False
        self._open: list[_Element] = []
        self._ignored = 0
        self._n_blank = self._n_entities = 0

    def entity(self, name: str, is_parameter: int, value: str | None, *_: object) -> None:
        self._n_entities += 1
        if value is None or is_parameter:
            raise ValueError(f"the entity {name[:40]!r} lies outside of the file, which is not allowed")
        if len(value) > _MAX_ENTITY or "&" in value or self._n_entities > _MAX_ENTITIES:
            raise ValueError(f"the entity {name[:40]!r} is too long, or made of others: only short ones are allowed")

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if len(self._open) + self._ignored >= _MAX_DEPTH:
            raise ValueError(f"elements are nested more than {_MAX_DEPTH:,} deep")
        uri = tag.replace(" ", "", 1)
        if self._ignored:
            self._ignored += 1
        elif uri == _RDF_ROOT:
            self.has_root = True
            self._open.append(
                _Element(False, "", "", _language(attributes, ""), attributes.get(f"{_XML} base", ""), None)
            )
        elif not self._open:
            raise ValueError("this is not RDF/XML: the first element is not rdf:RDF")
        elif self._open[-1].is_node:
            self._start_property(uri, attributes)
        else:
            self._start_node(uri, attributes)

    def end(self, _: str) -> None:
        if self._ignored:
            self._ignored -= 1
            return
        element = self._open.pop()
        if not element.is_node and element.text is not None and element.uri in WANTED:
            self._add(element.subject, element.uri, "".join(element.text), element.language)

    def characters(self, text: str) -> None:
        if not self._ignored and self._open and self._open[-1].text is not None:
            self._open[-1].text.append(text)

    def _start_node(self, uri: str, attributes: Mapping[str, str]) -> None:
        outer = self._open[-1]
        base = attributes.get(f"{_XML} base", outer.base)
        subject, language = self._subject(attributes, base), _language(attributes, outer.language)
        if uri != _DESCRIPTION:
            self._add(subject, TYPE, uri)
        for name, value in attributes.items():
            predicate = name.replace(" ", "", 1)
            if predicate in WANTED:
                self._add(subject, predicate, value, "" if predicate == TYPE else language)
        if outer.uri:
            self._add(outer.subject, outer.uri, subject)
            self._open[-1] = outer._replace(text=None)  # the white space around a resource is no literal
        self._open.append(_Element(True, uri, subject, language, base, None))

    def _start_property(self, uri: str, attributes: Mapping[str, str]) -> None:
        node = self._open[-1]
        language, parsed = _language(attributes, node.language), attributes.get(_spaced(RDF, "parseType"))
        target = attributes.get(_spaced(RDF, "resource"))
        if target is not None:
            self._add(node.subject, uri, _full(target, node.base))
        if parsed == "Resource":  # the property is a node of its own
            self._n_blank += 1
            self._open.append(_Element(True, uri, f"_:{self._n_blank}", language, node.base, None))
        elif parsed == "Literal":
            self._ignored = 1
        else:
            is_literal = target is None and parsed is None and _spaced(RDF, "nodeID") not in attributes
            self._open.append(_Element(False, uri, node.subject, language, node.base, [] if is_literal else None))

    def _subject(self, attributes: Mapping[str, str], base: str) -> str:
        if (about := attributes.get(_spaced(RDF, "about"))) is not None:
            return _full(about, base)
        if (name := attributes.get(_spaced(RDF, "ID"))) is not None:
            return _full("#" + name, base)
        self._n_blank += 1
        return f"_:{self._n_blank}"

    def _add(self, subject: str, predicate: str, value: str, language: str = "") -> None:
        if not subject.startswith("_:"):
            self.triples.add(subject, predicate, value, language)


def _spaced(namespace: str, name: str) -> str:
    """As expat writes names."""
    return f"{namespace} {name}"


def _language(attributes: Mapping[str, str], outer: str) -> str:
    return attributes.get(f"{_XML} lang", outer)


def _full(uri: str, base: str) -> str:
    return urljoin(base, uri) if base and ":" not in uri else uri
