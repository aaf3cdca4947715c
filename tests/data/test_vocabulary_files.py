from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from zipfel.data.vocabulary import Concept
from zipfel.data.vocabulary_files import read_vocabulary
from zipfel.errors import DataError

SHIP = Concept("x:1", {"en": "ship"}, notation="1")
TURTLE = '@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n<x:1> skos:prefLabel "ship"@en ; skos:notation "1" .'
XML = (
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:skos="http://www.w3.org/2004/02/skos/core#">'
    '<skos:Concept rdf:about="x:1"><skos:prefLabel xml:lang="en">ship</skos:prefLabel><skos:notation>1</skos:notation>'
    "</skos:Concept></rdf:RDF>"
)
CSV = "uri,notation,label_en\nx:1,1,ship\n"
JSONL = '{"id": "x:1", "labels": {"en": "ship"}, "notation": 1}'


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("v.ttl", TURTLE),
        ("v.rdf", XML),
        ("v.csv", CSV),
        ("v.jsonl", JSONL),
        ("v", TURTLE),
        ("v", XML),
        ("v", CSV),
        ("v", JSONL),
        ("v.tsv", CSV.replace(",", "\t")),
    ],
)
def test_formats_are_told_by_name_and_content(put, name: str, text: str) -> None:
    assert read_vocabulary(put(name, text)).concepts == [SHIP]


def test_compressed(tmp_path: Path) -> None:
    path = tmp_path / "v.ttl.gz"
    path.write_bytes(gzip.compress(TURTLE.encode()))
    assert read_vocabulary(path).concepts == [SHIP]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("v.ttl", "", "empty"),
        ("v.ttl", "@prefix a: <b:> .", "no concept"),
        ("v.ttl", b"@prefix a: <b:> .\n# \xff", "v.ttl:2: a byte of the line is not UTF-8"),
        ("v.jsonl", "[", "v.jsonl:1: this is not JSON"),
    ],
)
def test_errors(put, name: str, text: str | bytes, words: str) -> None:
    with pytest.raises(DataError, match=words):
        read_vocabulary(put(name, text))
