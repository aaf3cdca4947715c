from __future__ import annotations

import pytest

from zipfel.data.vocabulary import Concept
from zipfel.data.vocabulary_files import read_vocabulary
from zipfel.errors import DataError


def test_tsv_of_annif(put) -> None:
    text = "\ufeff<http://x.org/1>\tship\n\n<http://x.org/2>\tboat\t7\n<http://x.org/3>\n"
    assert read_vocabulary(put("v.tsv", text)).concepts == [
        Concept("http://x.org/1", {"": "ship"}),
        Concept("http://x.org/2", {"": "boat"}, notation="7"),
        Concept("http://x.org/3"),
    ]


def test_csv_of_annif(put) -> None:
    text = 'uri,notation,label_fi,label_en\n<x:1>,,"laiva, iso",ship\nx:2,5,vene,\n'
    assert read_vocabulary(put("v.csv", text)).concepts == [
        Concept("x:1", {"fi": "laiva, iso", "en": "ship"}),
        Concept("x:2", {"fi": "vene"}, notation="5"),
    ]


def test_json_lines(put) -> None:
    text = (
        '{"id": "x:1", "label": "ship", "alt_labels": ["big  boat", "vessel"], "broader": "<x:2>"}\n\n'
        '{"uri": "x:2", "labels": {"en": "thing", "DE": ["Ding", "Sache"]}, "alt_labels": {"de": ["Dings"]},'
        ' "notation": "t"}\n'
        '{"id": 3, "label": null}\n'
    )
    assert read_vocabulary(put("v.jsonl", text)).concepts == [
        Concept("x:1", {"": "ship"}, {"": ["big boat", "vessel"]}, ["x:2"]),
        Concept("x:2", {"en": "thing", "de": "Ding"}, {"de": ["Sache", "Dings"]}, notation="t"),
        Concept("3"),
    ]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("v.tsv", "<x:1>\ta\n\tb\n", "v.tsv:2: the identifier is empty"),
        ("v.csv", "uri,label_en\nx:1\n", "v.csv:2: the row has 1 cells"),
        ("v.csv", 'uri,label_en\nx:1,"a\n', "the table is broken"),
        ("v.jsonl", '{"label": "a"}', '"id" must be text, got None'),
        ("v.jsonl", '{"id": "1", "label": 5}', '"label" must hold texts, got 5'),
        ("v.jsonl", '{"id": "1", "notation": []}', '"notation" must be text'),
        ("v.jsonl", '{"id": "1"}\n5\n', "v.jsonl:2: a line must be an object"),
        ("v.jsonl", '{"id":' + "[" * 100_000, "nested too deeply|not JSON"),
    ],
)
def test_errors_name_the_line(put, name: str, text: str, words: str) -> None:
    with pytest.raises(DataError, match=words):
        read_vocabulary(put(name, text))
