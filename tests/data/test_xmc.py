from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from zipfel.data import read, read_documents
from zipfel.data.xmc import companion
from zipfel.errors import DataError
from zipfel.system.threads import use_threads


def test_old_format(good: Path) -> None:
    dataset = read(good / "old.txt")
    assert dataset.X is not None
    assert dataset.X.toarray().tolist() == [
        [1, 0, 0, 0, 0.5, 0],
        [0, 0, 0, 0, 0, 0.25],
        [0, 0, 0, 1, 0, 0],
        [0, 0, 0, 0, 0, 0],
    ]
    assert dataset.Y.toarray().tolist() == [[1, 0, 1], [0, 1, 0], [0, 0, 0], [0, 0, 1]]
    assert dataset.X.dtype == dataset.Y.dtype == np.float32
    assert (dataset.report.rows_without_labels, dataset.report.rows_without_features) == (1, 1)
    assert dataset.name == "old"


def test_new_format_finds_its_labels(good: Path) -> None:
    dataset = read(good / "trn_X_Xf.txt")
    assert dataset.X is not None
    assert dataset.X.toarray().tolist() == [[1.5, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 1]]
    assert dataset.Y.toarray().tolist() == [[1, 0], [1, 1], [0, 0]]
    assert read(good / "trn_X_Xf.txt", labels=good / "trn_X_Y.txt").Y.nnz == 3


def test_new_format_without_labels(put) -> None:
    path = put("only.txt", "1 3\n2:1\n")
    with pytest.raises(DataError, match=r"only_Y\.txt"):
        read(path)
    assert read_documents(path).n_labels == 0


def test_new_format_with_labels_of_another_part(good: Path, put) -> None:
    with pytest.raises(DataError, match=r"2 rows .* have 3"):
        read(good / "trn_X_Xf.txt", labels=put("other.txt", "2 2\n0:1\n1:1\n"))


def test_duplicates_are_mended_and_reported(put) -> None:
    dataset = read(put("d.txt", "2 5 4\n3,1,3 4:1 0:2 4:0.5\n1 1:1 1:-1\n"))
    assert dataset.X is not None
    assert dataset.X.toarray().tolist() == [[2, 0, 0, 0, 1.5], [0, 0, 0, 0, 0]]
    assert dataset.Y.indices.tolist() == [1, 3, 1]
    assert dataset.X.has_sorted_indices
    assert (dataset.report.duplicate_features, dataset.report.duplicate_labels) == (2, 1)
    assert dataset.X.nnz == 2


def test_windows_line_ends_tabs_and_blank_lines_at_the_end(put) -> None:
    dataset = read(put("w.txt", "2 5 4\r\n0,1\t1:1  2:1 \r\n3 4:1\r\n\r\n \n"))
    assert dataset.n_points == 2
    assert dataset.Y.indices.tolist() == [0, 1, 3]


def test_names_beside_are_picked_up(put) -> None:
    path = put("t.txt", "1 2 2\n0 1:1\n")
    put("labels.txt", "eins\nzwei drei\n")
    put("features.txt", "only one\n")
    dataset = read(path)
    assert dataset.label_names == ["eins", "zwei drei"]
    assert dataset.feature_names is None  # of the wrong length
    with pytest.raises(DataError, match="1 names for 2 features"):
        read(path, feature_names=path.parent / "features.txt")


def test_threads_and_blocks_do_not_change_the_result(put, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    lines = [
        ",".join(map(str, rng.integers(0, 50, rng.integers(0, 4))))
        + " "
        + " ".join(f"{f}:{v:.5g}" for f, v in zip(rng.integers(0, 900, 9), rng.random(9), strict=True))
        for _ in range(400)
    ]
    path = put("t.txt", f"400 900 50\n{chr(10).join(lines)}\n")
    with use_threads(1):
        expected = read(path)
    monkeypatch.setattr("zipfel.data.streams.Stream.blocks.__defaults__", (777,))
    with use_threads(3):
        found = read(path)
    assert found.fingerprint() == expected.fingerprint()
    assert found.report == expected.report


BROKEN = {
    "rows.txt": ("3 5 4\n0 1:1\n1 2:1\n", ":1: the header says 3 rows but there are 2"),
    "more.txt": ("1 5 4\n0 1:1\n\n1 2:1\n", ":4: the header says 1 rows but there are more"),
    "range.txt": ("2 5 4\n0 1:1\n1 5:1\n", ":3: feature id 5 is out of range"),
    "label.txt": ("2 5 4\n0 1:1\n4 2:1\n", ":3: label id 4 is out of range"),
    "nan.txt": ("2 5 4\n0 1:nan\n1 2:1\n", ":2: .*'nan'"),
    "inf.txt": ("2 5 4\n0 1:-inf\n1 2:1\n", ":2: .*'-inf'"),
    "large.txt": ("2 5 4\n0 1:1e39\n1 2:1\n", ":2: .*float32"),
    "larger.txt": ("2 5 4\n0 1:1e999\n1 2:1\n", ":2: .*float32"),
    "sum.txt": ("2 5 4\n0 1:1\n1 2:3e38 2:3e38\n", ":3: .*add up"),
    "word.txt": ("2 5 4\n0 1:x\n1 2:1\n", ":2: .*'x'"),
    "negative.txt": ("2 5 4\n0 -1:1\n1 2:1\n", ":2: .*'-1'"),
    "colon.txt": ("2 5 4\n0 1\n1 2:1\n", ":2: .*feature:value"),
    "comma.txt": ("2 5 4\n0, 1:1\n1 2:1\n", ":2: .*label id"),
    "name.txt": ("2 5 4\ncat 1:1\n1 2:1\n", ":2: .*'cat'"),
    "empty.txt": ("", "empty"),
    "head.txt": ("a b c\n", ":1: the format is not recognised"),
    "big.txt": ("2 99999999999999 4\n0 1:1\n1 2:1\n", ":1: .*99,999,999,999,999 columns"),
    "digits.txt": ("2 5 4\n0 " + "9" * 5000 + ":1\n1 2:1\n", ":2: .*out of range"),
    "nul.txt": ("2 5 4\n0 1:1\x00\n1 2:1\n", ":2: "),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_located(put, name: str) -> None:
    content, message = BROKEN[name]
    with pytest.raises(DataError, match=name + ".*" + message if message[0] != ":" else name + message) as caught:
        read(put(name, content))
    assert len(str(caught.value)) < 500


def test_a_huge_header_allocates_nothing(put) -> None:
    with pytest.raises(DataError, match="says 99,999,999,999,999 rows"):
        read(put("n.txt", "99999999999999 5 4\n0 1:1\n"))


def test_a_fault_deep_in_the_file_has_the_right_line(put) -> None:
    good = "1 2:1 3:0.25\n" * 70_000
    with pytest.raises(DataError, match=r"deep.txt:70002: "):
        read(put("deep.txt", f"70002 5 4\n{good}1 2:oops\n1 1:1\n"))


@pytest.mark.parametrize(
    ("features", "labels"),
    [
        ("trn_X_Xf.txt", "trn_X_Y.txt"),
        ("X_train.npz", "Y_train.npz"),
        ("a.X.txt", "a_Y.X.txt"),
        ("a.txt.gz", "a_Y.txt.gz"),
    ],
)
def test_companions(features: str, labels: str) -> None:
    assert companion(features).name == labels


def test_real_files(shared_data: Path) -> None:
    dataset = read(shared_data / "delicious" / "train.txt")
    assert (dataset.n_points, dataset.n_features, dataset.n_labels) == (12920, 500, 983)
    assert dataset.report.rows_without_labels == 10
    assert dataset.label_names is not None
    packed = read(shared_data / "debian-tags" / "test.txt.gz")
    assert (packed.n_points, packed.n_labels) == (4432, 579)
