"""Documents in chunks, as they come."""

from __future__ import annotations

import io
import os
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from zipfel.data import read_documents
from zipfel.data.chunks import CHUNK_ROWS, Chunk, read_chunks
from zipfel.errors import DataError, ParameterError


def texts(path: Path, **options: Any) -> list[str]:
    return [text for chunk in read_chunks(path, **options) for text in chunk.documents.texts or ()]


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch) -> Any:
    """stdin(bytes) puts them on standard input and returns its name."""

    def put(content: bytes) -> Path:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
        return Path("-")

    return put


@pytest.mark.parametrize(
    "content", [b"text, with, labels\n1 2 3\n{curly} first\n", b"1 2 3\n0 0:1\n\n", b"__label__a b\n"]
)
def test_standard_input_is_plain_text(stdin: Any, content: bytes) -> None:
    assert texts(stdin(content)) == content.decode().split("\n")[:-1]


def test_only_an_object_with_a_text_is_told_by_itself(stdin: Any) -> None:
    (chunk,) = read_chunks(stdin(b'{"text": "a b", "id": 7}\n\n{"text": "c"}\n'))
    assert (chunk.documents.texts, chunk.ids, chunk.lines) == (["a b", "c"], ["7", None], [1, 3])
    assert texts(stdin(b'{"head": "x"}\n'), text_column="head") == ["x"]
    assert texts(stdin(b'{"head": "x"}\n'), format="text") == ['{"head": "x"}']
    with pytest.raises(
        DataError, match=r'without "text" \(name its text with --text-column NAME, or say --format text'
    ):
        texts(stdin(b'{"head": "x"}\n'))


def test_other_formats_are_named(stdin: Any) -> None:
    table = b'id;title;abstract\n1;one;"two\nthree"\n2;;four\n'
    assert texts(stdin(table), format="csv") == ["one two\nthree", "four"]
    assert texts(stdin(table), format="csv", text_column="abstract") == ["two\nthree", "four"]
    assert texts(stdin(b"a b __label__c\n"), format="fasttext") == ["a b"]
    with pytest.raises(ParameterError, match="did you mean 'csv'"):
        texts(stdin(table), format="cvs")


def test_sparse_rows_of_a_model_of_features(stdin: Any, put: Any) -> None:
    (chunk,) = read_chunks(stdin(b"2 4 2\n0,1 0:1 3:0.5\n 1:2\n"), texts=False)
    assert chunk.documents.X is not None
    np.testing.assert_array_equal(chunk.documents.X.toarray(), [[1, 0, 0, 0.5], [0, 2, 0, 0]])
    with pytest.raises(DataError, match="says 3 rows but there are 1"):
        list(read_chunks(put("a.txt", "3 4 2\n0 1:1\n"), texts=False))
    with pytest.raises(DataError, match="--format xmc, svmlight or jsonl"):
        list(read_chunks(stdin(b"hello\n"), texts=False))
    (chunk,) = read_chunks(stdin(b"0 1:1\n1 x:1\n1 2:1\n"), texts=False, on_error="skip")
    assert (chunk.lines, list(chunk.faults), chunk.documents.n_points) == ([1, 3], [1], 2)


@pytest.mark.parametrize(
    "name", ["rows.jsonl", "rows.csv", "rows.tsv", "rows.parquet", "old.txt", "rows.svm", "X.npz", "m.arff"]
)
def test_files_give_what_they_give_in_one_piece(good: Path, name: str) -> None:
    whole = read_documents(good / name)
    chunks = list(read_chunks(good / name, texts=whole.X is None))
    if whole.X is None:
        assert [text for chunk in chunks for text in chunk.documents.texts or ()] == whole.texts
        assert [name for chunk in chunks for name in chunk.ids] == list(whole.ids or [None] * whole.n_points)
    else:
        (chunk,) = chunks
        assert chunk.documents.X is not None
        n = min(chunk.documents.n_features, whole.n_features)
        assert (chunk.documents.X[:, :n] != whole.X[:, :n]).nnz == 0


BAD = b'{"text": "a"}\n{"text": 1}\n\xff\n{"text": "b"}\n'


def test_a_bad_line_stops_behind_the_answers_before_it(stdin: Any) -> None:
    chunks = read_chunks(stdin(BAD))
    assert next(chunks).documents.texts == ["a"]
    with pytest.raises(DataError, match='<stdin>:2: "text" must be text, got 1'):
        next(chunks)


@pytest.mark.parametrize("on_error", ["skip", "null"])
def test_a_bad_line_spoils_no_other(stdin: Any, on_error: str) -> None:
    (chunk,) = read_chunks(stdin(BAD), on_error=on_error)
    assert (chunk.documents.texts, chunk.lines, chunk.n_rows) == (["a", "b"], [1, 4], 4)
    assert {place: fault.line for place, fault in chunk.faults.items()} == {1: 2, 2: 3}
    with pytest.raises(ParameterError, match="on_error"):
        list(read_chunks(stdin(BAD), on_error="ignore"))


def test_what_came_before_a_damaged_end_is_answered(put: Any) -> None:
    import gzip

    whole = gzip.compress(b"a line\n" * 300_000)
    chunks = read_chunks(put("cut.txt.gz", whole[: len(whole) // 2]))
    assert next(chunks).documents.n_points == CHUNK_ROWS
    with pytest.raises(DataError, match="damaged or cut off"):
        list(chunks)


def test_lines_of_a_pipe_are_handed_over_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=os.fdopen(reader, "rb")))
    found: list[Chunk] = []
    arrived = threading.Semaphore(0)

    def read() -> None:
        for chunk in read_chunks("-"):
            found.append(chunk)
            arrived.release()

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    for text in (b"one\n", b"two\nthr", b"ee\n"):
        os.write(writer, text)
        assert arrived.acquire(timeout=20)
    os.close(writer)
    thread.join(20)
    assert [chunk.documents.texts for chunk in found] == [["one"], ["two"], ["three"]]


def test_chunks_are_small(put: Any) -> None:
    sizes = [chunk.n_rows for chunk in read_chunks(put("many.txt", b"x\n" * (2 * CHUNK_ROWS + 5)))]
    assert sizes == [CHUNK_ROWS, CHUNK_ROWS, 5]
    sizes = [chunk.n_rows for chunk in read_chunks(put("long.txt", (b"x" * 3_000_000 + b"\n") * 3))]
    assert sizes == [2, 1]
