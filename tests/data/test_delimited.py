from __future__ import annotations

from pathlib import Path

import pytest

from zipfel.data import read, read_documents
from zipfel.data.chunks import read_chunks
from zipfel.data.delimited import LISTS, label_separator
from zipfel.errors import DataError


def test_csv(good: Path) -> None:
    dataset = read(good / "rows.csv")
    assert dataset.texts == ["one, two", "three\nlines"]
    assert dataset.ids == ["1", "2"]
    assert dataset.label_names == ["a", "b"]
    assert dataset.Y.toarray().tolist() == [[1, 1], [0, 0]]


def test_tsv_with_tags(good: Path) -> None:
    dataset = read(good / "rows.tsv")
    assert (dataset.texts, dataset.label_names) == (["one", "two"], ["a", "b"])
    assert dataset.Y.toarray().tolist() == [[1, 1], [0, 1]]


def test_a_table_is_recognised_without_its_suffix(put) -> None:
    assert read(put("t.txt", "text;labels\none;a\n")).texts == ["one"]


def test_columns_and_separator_can_be_named(put) -> None:
    path = put("t.csv", "what,mesh,key\none,a/b c/a,7\n")
    dataset = read(path, text_column="what", label_column="mesh", id_column="key", label_separator="/")
    assert (dataset.label_names, dataset.ids) == (["a", "b c"], ["7"])
    assert dataset.report.duplicate_labels == 1


@pytest.mark.parametrize(
    ("cells", "separator"),
    [
        (["a|b,c", "d"], "|"),
        (["a, b"], ","),
        (["one two", "three"], None),
        (["1 2", "3"], " "),
        (['["a", "b"]', "[]"], LISTS),
        ([], None),
    ],
)
def test_separators_are_told_from_the_cells(cells: list[str], separator: str | None) -> None:
    assert label_separator(cells) == separator


def test_cells_may_be_json_lists_and_long(put) -> None:
    text = "word " * 50_000
    dataset = read(put("t.csv", f'text,labels\n{text},"[""a b"", 3]"\n'))
    assert dataset.label_names == ["a b", "3"]
    assert dataset.texts == [text]


def test_excel_writes_a_byte_order_mark(put) -> None:
    assert read(put("t.csv", b"\xef\xbb\xbftext,labels\none,a\n")).texts == ["one"]


def test_documents_need_no_labels(put) -> None:
    assert read_documents(put("t.csv", "id,text\n1,one\n")).texts == ["one"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n1,2\n", ":1: there is no labels column; the columns are 'a', 'b'"),
        ("labels,b\n1,2\n", ":1: there is no text column"),
        ("text,labels\none,a\ntwo,b,c\n", ":3: the row has 3 cells but the header has 2"),
        ('text,labels\n"one,a\n', ":2: the table is broken"),
        (b"text,labels\n\xff,a\n", ":2: byte 1 of the line is not UTF-8"),
        ('text,labels\none,"[1]"\ntwo,"[{}]"\n', ":3: the labels must be a JSON list"),
        ("text,labels\n", ": has no rows"),
        ("\n", ":1: there is no labels column; the columns are none"),
    ],
)
def test_broken_files(put, content: str | bytes, message: str) -> None:
    with pytest.raises(DataError, match="b.csv" + message):
        read(put("b.csv", content))


def test_a_column_that_was_asked_for_must_be_there(put) -> None:
    with pytest.raises(DataError, match="there is no id column 'nr'"):
        read(put("t.csv", "text,labels\none,a\n"), id_column="nr")


def test_lists_as_pandas_writes_them(put) -> None:
    path = put("t.csv", 'text,tags\none,"[\'b\', ""it\'s""]"\ntwo,[]\n')
    assert read(path).label_names == ["b", "it's"]


def test_several_text_columns_are_joined_and_told(put) -> None:
    path = put("t.csv", "title,abstract,tags\nOne,first,a;b\nTwo,,b\n")
    dataset = read(path)
    assert dataset.texts == ["One first", "Two"]
    assert dataset.report.sentences()[0] == "text: title + abstract, labels: tags, separated by ;"
    assert read(path, text_column="abstract,title").texts == ["first One", "Two"]
    assert read(path, text_column="abstract").report.guessed == (
        "text: abstract, labels: tags, separated by ;; title is not read (--text-column joins columns: title,...)"
    )
    with pytest.raises(DataError, match="there is no text column 'abstract,nope'"):
        read(path, text_column="abstract,nope")


def test_tsv_without_a_header_as_annif_has_it(put) -> None:
    content = 'A "text"\t<http://x.org/1> <http://x.org/2>\nAnother\t\n'
    for name in ("corpus.tsv", "corpus.txt"):
        dataset = read(put(name, content))
        assert dataset.texts == ['A "text"', "Another"]
        assert dataset.label_names == ["http://x.org/1", "http://x.org/2"]
    assert read_documents(put("corpus.tsv", content)).texts == ['A "text"', "Another"]


def test_quotes_that_are_only_quotes(put) -> None:
    assert read(put("t.csv", 'text,labels\n"one" x,a\n5" disk,b\n')).texts == ['"one" x', '5" disk']
    assert read(put("t.tsv", 'text\tlabels\n"one\ta\ntwo\tb\n')).texts == ['"one', "two"]


def test_one_label_a_cell_can_be_said(put) -> None:
    path = put("t.csv", 'text,labels\none,"Smith, John"\n')
    assert read(path, label_separator="none").label_names == ["Smith, John"]
    assert read(path).label_names == ["Smith", "John"]


@pytest.mark.parametrize("name", ["a.tsv", "a.txt"])
def test_annifs_form_may_have_more_commas_than_tabs(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text('One, two, three; "four"\t<http://x/1> <http://x/2>\nfive, "six\t<http://x/2>\n')
    found = read(tmp_path / name)
    assert list(found.texts or ()) == ['One, two, three; "four"', 'five, "six']
    assert found.label_names == ["http://x/1", "http://x/2"]
    documents = [
        text for chunk in read_chunks(str(tmp_path / name), texts=True) for text in chunk.documents.texts or ()
    ]
    assert documents == list(found.texts or ())
