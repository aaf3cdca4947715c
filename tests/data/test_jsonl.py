from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from zipfel.data import read, read_documents
from zipfel.errors import DataError


def test_rows(good: Path) -> None:
    dataset = read(good / "rows.jsonl")
    assert dataset.texts == ["été", ""]
    assert dataset.ids == ["1", "2"]
    assert dataset.label_names == ["a", "b"]
    assert dataset.Y.toarray().tolist() == [[1, 1], [0, 0]]
    assert (dataset.report.rows_without_labels, dataset.report.rows_without_features) == (1, 1)


def test_labels_may_be_numbers_null_or_repeated(put) -> None:
    dataset = read(put("a.jsonl", '{"text": "x", "labels": [7, "7", 8]}\n{"text": "y", "labels": null}\n'))
    assert dataset.label_names == ["7", "8"]
    assert dataset.report.duplicate_labels == 1
    assert dataset.ids is None


def test_rows_without_an_id_among_others_get_their_number(put) -> None:
    lines = ['{"text": "x", "labels": []}', '{"text": "y", "labels": [], "id": "b"}', '{"text": "z", "labels": []}']
    assert read(put("a.jsonl", "\n".join(lines))).ids == ["0", "b", "2"]


def test_fields_can_be_named(put) -> None:
    row = {"words": "x", "mesh": "a; b", "key": 3}
    path = put("a.jsonl", json.dumps(row))
    dataset = read(path, text_column="words", label_column="mesh", id_column="key", label_separator=";")
    assert (dataset.texts, dataset.label_names, dataset.ids) == (["x"], ["a", "b"], ["3"])


def test_features_instead_of_text(put) -> None:
    dataset = read(
        put("a.jsonl", '{"features": {"3": 0.5, "1": 2}, "labels": ["a"]}\n{"features": {}, "labels": []}\n')
    )
    assert dataset.X is not None
    assert dataset.X.toarray().tolist() == [[0, 2, 0, 0.5], [0, 0, 0, 0]]
    assert dataset.texts is None


def test_documents_need_no_labels(put) -> None:
    path = put("a.jsonl", '{"text": "x"}\n{"text": "y", "labels": ["a"]}\n')
    assert read_documents(path).texts == ["x", "y"]
    with pytest.raises(DataError, match=r'a\.jsonl:1: there is no field "labels"'):
        read(path)


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(b'{"text": "x", "labels": ["a"]}\n'))
    monkeypatch.setattr(sys, "stdin", stdin)
    dataset = read("-")
    assert (dataset.texts, dataset.name) == (["x"], "stdin")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"text": "a", "labels": ["x"]}\n{"text": \n', ":2: this is not JSON"),
        ('{"txt": "a", "labels": ["x"]}\n', ":1: there is no field \"text\"; the object has 'txt', 'labels'"),
        ('{"text": 3, "labels": ["x"]}\n', ':1: "text" must be text, got 3'),
        ('{"text": "a", "labels": "x"}\n', ":1: .*must be a list"),
        ('{"text": "a", "labels": [["x"]]}\n', ":1: a label must be"),
        ('{"text": "a", "labels": [null]}\n', ":1: a label must be .* null"),
        ('{"text": "a", "labels": [], "id": {}}\n', ":1: the id must be"),
        ('["text"]\n', ":1: a line must be an object"),
        (b'{"text": "\xff\xfe", "labels": []}\n', ":1: byte 11 of the line is not UTF-8"),
        ('{"text": "\\ud800", "labels": []}\n', ":1: .*surrogate"),
        ('{"text": "a", "labels": ["\\udfff"]}\n', ":1: .*surrogate"),
        ("[" * 100_000 + "\n", ":1: .*nested too deeply"),
        ('{"text": "a", "labels": [], "n": ' + "9" * 5000 + "}\n", ":1: "),
        ('{"text": "a", "labels": [NaN]}\n', ":1: NaN is not a number"),
        ('{"features": {"x": 1}, "labels": []}\n', ":1: .*column number"),
        ('{"features": {"1": 1e39}, "labels": []}\n', ":1: .*finite number"),
        ('{"features": {"1": 1}, "labels": []}\n{"text": "a", "labels": []}\n', ':2: this row has no "features"'),
        ('{"text": "a", "labels": []}\n{"features": {"1": 1}, "labels": []}\n', ":2: this row has"),
        ("\n\n", ": has no rows"),
    ],
)
def test_broken_files(put, content: str | bytes, message: str) -> None:
    with pytest.raises(DataError, match="b.jsonl" + message):
        read(put("b.jsonl", content))


def test_annifs_subjects(tmp_path: Path) -> None:
    file = tmp_path / "corpus.jsonl"
    file.write_text(
        '{"document_id": "a", "text": "A boat", "subjects": [{"uri": "<http://x/1>", "label": "Boat"}]}\n'
        '{"document_id": "b", "text": "A ship", "subjects": [{"label": "Ship"}, {"uri": "http://x/1"}]}\n'
    )
    found = read(file)
    assert found.ids == ["a", "b"]
    assert found.label_names == ["http://x/1", "Ship"]
    file.write_text('{"text": "A boat", "subjects": [{"name": "Boat"}]}\n')
    with pytest.raises(DataError, match="must have one of uri, id, label"):
        read(file)
