from __future__ import annotations

from pathlib import Path

import pytest

from zipfel.data import read, read_documents
from zipfel.errors import DataError

HEAD = "@relation 'r: -C {}'\n@attribute a {{0,1}}\n@attribute b {{0,1}}\n@attribute c numeric\n@data\n"


def test_sparse_and_dense_rows_with_xml(good: Path) -> None:
    dataset = read(good / "m.arff")
    assert dataset.X is not None
    assert dataset.X.toarray().tolist() == [[1.5, 0], [0, 1], [0, 0]]
    assert dataset.Y.toarray().tolist() == [[0, 1], [1, 1], [0, 0]]
    assert dataset.label_names == ["a", "b"]
    assert dataset.feature_names == ["f", "g h"]


def test_xml_is_found_for_parts_or_given(put, good: Path, good_files: dict[str, bytes]) -> None:
    assert read(put("m-train.arff", good_files["m.arff"])).label_names == ["a", "b"]
    xml = put("elsewhere.xml", good_files["m.xml"])
    assert read(put("n.arff", good_files["m.arff"]), labels=xml).n_labels == 2


@pytest.mark.parametrize(("count", "names"), [("2", ["a", "b"]), ("-1", ["c"])])
def test_meka_says_it_in_the_relation(put, count: str, names: list[str]) -> None:
    assert read(put("k.arff", HEAD.format(count) + "1,0,0\n{2 1}\n")).label_names == names


def test_nominal_values_are_numbers_or_places(put) -> None:
    head = "@relation 'r -C 1'\n@attribute l {0,1}\n@attribute 'it\\'s' {no,'oh yes'}\n@attribute n {5,7}\n@data\n"
    dataset = read(put("n.arff", head + "1,'oh yes',7\n0,no,5\n{1 'oh yes'}\n"))
    assert dataset.X is not None
    assert dataset.X.toarray().tolist() == [[1, 7], [0, 5], [1, 0]]
    assert dataset.feature_names == ["it's", "n"]


def test_duplicates_are_summed(put) -> None:
    dataset = read(put("d.arff", HEAD.format(2) + "{0 1,0 1,2 1.5,2 1}\n"))
    assert dataset.X is not None
    assert dataset.X.toarray().tolist() == [[2.5]]
    assert dataset.Y.toarray().tolist() == [[1, 0]]
    assert (dataset.report.duplicate_features, dataset.report.duplicate_labels) == (1, 1)


def test_without_any_word_on_labels(put) -> None:
    path = put("u.arff", "@relation u\n@attribute x numeric\n@data\n1\n")
    with pytest.raises(DataError, match="nothing says which attributes are labels"):
        read(path)
    assert read_documents(path).n_labels == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (HEAD.format(2) + "1,0\n", ":6: the row has 2 values for 3"),
        (HEAD.format(2) + "{0 1,9 1}\n", ":6: attribute 9 is out of range"),
        (HEAD.format(2) + "{0 1,2 1\n", ":6: .*must end in }"),
        (HEAD.format(2) + "{0 1 2}\n", ":6: expected 'attribute value'"),
        (HEAD.format(2) + "1,0,nan\n", ":6: .*'nan'"),
        (HEAD.format(2) + "1,0,?\n", ":6: "),
        (HEAD.format(2) + "2,0,1\n", ":6: '2' is not among the values"),
        (HEAD.format(2) + "{2 3e38,2 3e38}\n", ":6: .*add up"),
        (HEAD.format(2), "has no rows"),
        (HEAD.format(2).replace("@data\n", ""), "there is no @data"),
        ("@relation r\n@data\n1\n", ":2: there is no @attribute"),
        ("@relation r\n@attribute x date\n@data\n1\n", ":2: .*must be numeric or nominal"),
        ("@relation r\n@attribute 'x\n@data\n1\n", ":2: "),
        ("@relation r\nhello\n", ":2: expected @attribute"),
    ],
)
def test_broken_files(put, content: str, message: str) -> None:
    with pytest.raises(DataError, match="b.arff" + (message if message[0] == ":" else ".*" + message)):
        read(put("b.arff", content))


@pytest.mark.parametrize(
    ("xml", "message"),
    [
        ("<labels>", "not sound XML"),
        ("<labels/>", "has no <label"),
        ('<labels><label name="z"/></labels>', "'z', which is no attribute"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><labels><label name="a"/></labels>', "document type"),
    ],
)
def test_broken_xml(put, xml: str, message: str) -> None:
    put("b.xml", xml)
    with pytest.raises(DataError, match="b.xml.*" + message):
        read(put("b.arff", HEAD.format(2) + "1,0,1\n"))
