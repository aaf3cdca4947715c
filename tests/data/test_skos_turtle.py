from __future__ import annotations

import pytest

from zipfel.data.skos_turtle import read_turtle
from zipfel.data.vocabulary import Concept
from zipfel.errors import DataError

HEAD = "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\nPREFIX ex: <http://x.org/>\n"


def concepts(text: str) -> list[Concept]:
    return list(read_turtle(HEAD + text, "a.ttl").concepts())


def test_names_languages_notation_and_broader() -> None:
    found = concepts(
        'ex:a a skos:Concept ; # a comment; with "quotes"\n'
        ' skos:prefLabel "ship"@en , "Schiff"@de-AT ; skos:altLabel """a "big"\nboat"""@en, \'Boot\'@de ;\n'
        ' skos:notation "12.3"^^ex:code ; skos:broader ex:b ; .\n'
        "<http://x.org/b> a skos:Concept; skos:prefLabel 'thing' ; skos:narrower ex:c ."
        "ex:c skos:prefLabel 'no type is needed'."
    )
    assert found[0] == Concept(
        "http://x.org/a",
        {"en": "ship", "de-at": "Schiff"},
        {"en": ['a "big" boat'], "de": ["Boot"]},
        ["http://x.org/b"],
        "12.3",
    )
    assert [(c.id, c.name(), c.broader) for c in found[1:]] == [
        ("http://x.org/b", "thing", []),
        ("http://x.org/c", "no type is needed", ["http://x.org/b"]),
    ]


def test_what_is_no_concept_is_left_out() -> None:
    found = concepts(
        "@prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
        'ex:s a skos:ConceptScheme ; skos:prefLabel "scheme" . ex:g a skos:Collection ; skos:prefLabel "group" .\n'
        'ex:o a skos:Concept ; owl:deprecated true ; skos:prefLabel "old" .\n'
        'ex:k a skos:Concept ; skos:prefLabel "kept" .'
    )
    assert [c.id for c in found] == ["http://x.org/k"]


def test_brackets_lists_numbers_and_blank_nodes_are_passed_over() -> None:
    found = concepts(
        'ex:a ex:p [ skos:prefLabel "inner" ; ex:q [ ex:r 5 ] ] , ( 1 2.5 "x"@en ex:b [] ) , -1e5 , true ;'
        ' skos:prefLabel "outer"@en . _:n1 skos:prefLabel "blank" . [] skos:prefLabel "blank" .'
        ' ex:d ex:p 7. [ ex:p ex:e ] . ex:f\\,g skos:prefLabel "escaped" .'
    )
    assert [(c.id, c.names) for c in found] == [
        ("http://x.org/a", {"en": "outer"}),
        ("http://x.org/f,g", {"": "escaped"}),
    ]


def test_escapes_and_line_ends_in_texts() -> None:
    (found,) = concepts('ex:a skos:prefLabel "caf\\u00E9 \\"x\\" \\U0001F600\n "@fr .')
    assert found.names == {"fr": 'café "x" 😀'}


def test_base() -> None:
    (found,) = concepts('@base <http://y.org/v/> .\n<a> skos:prefLabel "n" .')
    assert found.id == "http://y.org/v/a"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ex:a skos:prefLabel 'x' ;\n nope:b 'y' .", "a.ttl:4: the prefix 'nope:' is not declared"),
        ("ex:a skos:prefLabel ;", "a.ttl:3: ';' stands where"),
        ("ex:a skos:prefLabel 'x'", "inside of a statement"),
        ("ex:a skos:prefLabel `x` .", "'`' is not Turtle"),
        ("ex:a skos:prefLabel 'x' 'y' .", "a text stands where"),
        ("ex:a skos:prefLabel '\\uD800' .", "is no character"),
        ("ex:a ex:b ) .", "closes nothing"),
        ("ex:a ex:b " + "[ ex:c " * 1001, "nested more than 1000 deep"),
        ("ex:a ex:b @en .", "stands behind no text"),
        ("{}", "is not Turtle"),
    ],
)
def test_errors_name_the_line(text: str, words: str) -> None:
    with pytest.raises(DataError) as caught:
        concepts(text)
    assert words in str(caught.value)


@pytest.mark.parametrize("piece", [" ", "#", "\\", '"', "[", "(", ":", "a", "'''", "<", "1."])
def test_long_runs_are_read_in_one_go(piece: str) -> None:
    # a token that searched back would never come to an end here
    with pytest.raises(DataError):
        concepts("ex:a ex:b " + piece * 200_000 + "`")
