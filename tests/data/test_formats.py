from __future__ import annotations

from pathlib import Path

import pytest

from zipfel.data import FORMATS, read, read_documents
from zipfel.data.formats import detect
from zipfel.errors import DataError, ParameterError

KINDS = {
    "old.txt": "xmc",
    "trn_X_Xf.txt": "xmc-pair",
    "rows.svm": "svmlight",
    "m.arff": "arff",
    "rows.jsonl": "jsonl",
    "rows.csv": "csv",
    "rows.tsv": "csv",
    "ft.txt": "fasttext",
    "X.npz": "npz",
    "rows.parquet": "parquet",
}


@pytest.mark.parametrize("name", KINDS)
def test_every_format_is_told_from_its_content_alone(good_files: dict[str, bytes], name: str) -> None:
    assert detect(good_files[name], "x", "", need_labels=True) == KINDS[name]


@pytest.mark.parametrize("name", KINDS)
def test_every_format_can_be_named(good: Path, name: str) -> None:
    assert read(good / name, format=KINDS[name]).fingerprint() == read(good / name).fingerprint()


def test_plain_text_is_for_documents_only(put) -> None:
    path = put("p.txt", "just text\n\n12 monkeys: 3\n")
    assert read_documents(path).texts == ["just text", "", "12 monkeys: 3"]
    with pytest.raises(DataError, match=r"p\.txt:1: the format is not recognised; the first line is 'just text'"):
        read(path)


def test_a_text_that_begins_with_numbers_is_text(put) -> None:
    assert read_documents(put("p.txt", "7 11\nis a shop\nround the corner\n")).texts == [
        "7 11",
        "is a shop",
        "round the corner",
    ]


def test_unknown_formats_name_the_nearest(put) -> None:
    with pytest.raises(ParameterError, match="did you mean 'jsonl'"):
        read(put("a.txt", "x"), format="jsnl")
    assert set(KINDS.values()) | {"text"} == set(FORMATS)


def test_a_long_first_line_is_no_obstacle(put) -> None:
    row = "1 " + " ".join(f"{i}:1" for i in range(20_000))
    assert len(row) > 1 << 16
    assert read(put("a.txt", f"{row}\n{row}\n")).n_features == 20_000
    assert read(put("b.txt", f"1 20000 2\n{row}\n")).n_features == 20_000


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.xlsx", b"anything", "an Excel table"),
        ("a.bin", b"PK\x03\x04\x14\x00[Content_Types].xml", "an office program"),
        ("a.doc", b"text", "a Word document"),
        ("a.csv", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an office program"),
        ("a.pdf", b"%PDF-1.7", "a PDF document"),
    ],
)
def test_files_of_office_programs_are_refused_with_a_remedy(
    tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    (tmp_path / name).write_bytes(content)
    for reads in (read, read_documents):
        with pytest.raises(DataError, match=f"{said}.*save it as CSV"):
            reads(tmp_path / name)
