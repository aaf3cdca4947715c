"""SKOS triples gathered into concepts: what the Turtle and the RDF/XML reader hand their triples to."""

from __future__ import annotations

from collections.abc import Iterable

from zipfel.data.vocabulary import NO_LANGUAGE, Concept

SKOS = "http://www.w3.org/2004/02/skos/core#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
TYPE = RDF + "type"
_CONCEPT = SKOS + "Concept"
_OTHER_KINDS = {SKOS + kind for kind in ("ConceptScheme", "Collection", "OrderedCollection")}
_DEPRECATED = "http://www.w3.org/2002/07/owl#deprecated"
_NAMES = {SKOS + "prefLabel", SKOS + "altLabel", SKOS + "hiddenLabel"}
_OTHERS = {TYPE, _DEPRECATED, SKOS + "broader", SKOS + "narrower", SKOS + "notation"}
WANTED = _NAMES | _OTHERS
"""Predicates that say something about a concept here; all others are passed over."""


class Triples:
    """Triples of the wanted predicates, in any order."""

    def __init__(self) -> None:
        self._concepts: dict[str, Concept] = {}
        self._kinds: dict[str, set[str]] = {}
        self._deprecated: set[str] = set()

    def add(self, subject: str, predicate: str, value: str, language: str = NO_LANGUAGE) -> None:
        """value: a URI, or a literal's text."""
        if predicate not in WANTED:
            return
        if predicate == TYPE:
            self._concept(subject)
            self._kinds.setdefault(subject, set()).add(value)
        elif predicate == _DEPRECATED:
            if value.strip().lower() in {"true", "1"}:
                self._deprecated.add(subject)
        elif predicate == SKOS + "prefLabel":
            self._concept(subject).add_name(_tidy(value), language.lower())
        elif predicate in _NAMES:
            self._concept(subject).add_alt_name(_tidy(value), language.lower())
        elif predicate == SKOS + "notation":
            concept = self._concept(subject)
            concept.notation = concept.notation or _tidy(value) or None
        elif predicate == SKOS + "broader":
            self._add_broader(subject, value)
        else:
            self._add_broader(value, subject)

    def concepts(self) -> Iterable[Concept]:
        """Subjects that are declared to be concepts, or have a name and are not declared to be anything else."""
        for name, concept in self._concepts.items():
            kinds = self._kinds.get(name, set())
            is_concept = _CONCEPT in kinds or bool(concept.names and not kinds & _OTHER_KINDS)
            if is_concept and name not in self._deprecated:
                yield concept

    def _concept(self, subject: str) -> Concept:
        found = self._concepts.get(subject)
        if found is None:
            found = self._concepts[subject] = Concept(subject)
        return found

    def _add_broader(self, subject: str, wider: str) -> None:
        broader = self._concept(subject).broader
        if wider not in broader and wider != subject:
            broader.append(wider)


def _tidy(text: str) -> str:
    return " ".join(text.split())
