from __future__ import annotations

import pytest

from zipfel.data.skos_xml import read_rdf_xml
from zipfel.data.streams import open_stream
from zipfel.data.vocabulary import Concept
from zipfel.errors import DataError

HEAD = (
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:ex="http://x.org/#"'
    ' xmlns:skos="http://www.w3.org/2004/02/skos/core#" xml:base="http://x.org/v">'
)


def concepts(put, text: str, before: str = '<?xml version="1.0"?>') -> list[Concept]:
    with open_stream(put("a.rdf", before + HEAD + text + "</rdf:RDF>")) as stream:
        return list(read_rdf_xml(stream).concepts())


def test_names_languages_notation_and_broader(put) -> None:
    found = concepts(
        put,
        '<skos:Concept rdf:about="http://x.org/a"><skos:prefLabel xml:lang="EN">a\n ship</skos:prefLabel>'
        "<skos:altLabel>boat</skos:altLabel><skos:notation>1</skos:notation>"
        '<skos:broader rdf:resource="#b"/><ex:other><![CDATA[x]]></ex:other></skos:Concept>'
        '<rdf:Description rdf:ID="b" skos:prefLabel="thing" xml:lang="en"/>',
    )
    assert found == [
        Concept("http://x.org/a", {"en": "a ship"}, {"": ["boat"]}, ["http://x.org/v#b"], "1"),
        Concept("http://x.org/v#b", {"en": "thing"}),
    ]


def test_concepts_inside_of_others(put) -> None:
    found = concepts(
        put,
        '<skos:Collection rdf:about="http://x.org/g"><skos:prefLabel>group</skos:prefLabel><skos:member>'
        '<skos:Concept rdf:about="http://x.org/a"><skos:narrower> <skos:Concept rdf:about="http://x.org/b">'
        "<skos:prefLabel>b</skos:prefLabel></skos:Concept> </skos:narrower><skos:prefLabel>a</skos:prefLabel>"
        "</skos:Concept></skos:member></skos:Collection>"
        '<skos:Concept rdf:about="http://x.org/c"><ex:note rdf:parseType="Resource"><skos:prefLabel>no</skos:prefLabel>'
        '</ex:note><ex:xml rdf:parseType="Literal"><b>no</b></ex:xml><skos:prefLabel>c</skos:prefLabel></skos:Concept>',
    )
    assert {c.id: (c.names, c.broader) for c in found} == {
        "http://x.org/a": ({"": "a"}, []),
        "http://x.org/b": ({"": "b"}, ["http://x.org/a"]),
        "http://x.org/c": ({"": "c"}, []),
    }


def test_short_entities_are_abbreviations(put) -> None:
    before = '<!DOCTYPE rdf:RDF [<!ENTITY x "http://x.org/">]>'
    (found,) = concepts(put, '<skos:Concept rdf:about="&x;a" skos:prefLabel="n"/>', before)
    assert found.id == "http://x.org/a"


@pytest.mark.parametrize(
    ("before", "words"),
    [
        ('<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>', "made of others"),
        ('<!DOCTYPE r [<!ENTITY a "' + "x" * 301 + '">]>', "too long"),
        ('<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/passwd">]>', "outside of the file"),
        ('<!DOCTYPE r [<!ENTITY % a "x">]>', "outside of the file"),
    ],
)
def test_dangerous_entities_are_refused(put, before: str, words: str) -> None:
    with pytest.raises(DataError, match=words):
        concepts(put, "", before)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<a>\n</rdf:RDF>", "a.rdf:1: this is not RDF/XML: the first element"),
        (HEAD + "\n<skos:Concept>", "a.rdf:2: this is not XML"),
        (HEAD + "<skos:Concept><ex:p>" * 5001, "nested more than 10,000 deep"),
    ],
)
def test_errors_name_the_line(put, text: str, words: str) -> None:
    with open_stream(put("a.rdf", text)) as stream, pytest.raises(DataError) as caught:
        read_rdf_xml(stream)
    assert words in str(caught.value)
