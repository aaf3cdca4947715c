from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from zipfel.data import Dataset, binary, read, write, write_names
from zipfel.errors import DataError, ParameterError

SUFFIX = {"xmc": ".txt", "xmc-pair": ".txt", "svmlight": ".svm", "arff": ".arff", "jsonl": ".jsonl"}
NAMES = st.lists(
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1), min_size=3, max_size=3, unique=True
)
MATRICES = hnp.arrays(
    np.float32,
    hnp.array_shapes(min_dims=2, max_dims=2, max_side=4),
    elements=st.one_of(st.just(0.0), st.floats(width=32, allow_nan=False, allow_infinity=False)),
)


def same(a: sp.csr_matrix | None, b: sp.csr_matrix | None, *, width: bool = True) -> None:
    assert a is not None
    assert b is not None
    n = max(a.shape[1], b.shape[1])
    if width:
        assert a.shape == b.shape
    a, b = (np.pad(m.toarray(), ((0, 0), (0, n - m.shape[1]))) for m in (a, b))
    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
@pytest.mark.parametrize("kind", SUFFIX)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(MATRICES, st.integers(0, 2**16))
def test_round_trips(tmp_path: Path, kind: str, ending: str, values: np.ndarray, seed: int) -> None:
    X = sp.csr_matrix(values)
    Y = binary(sp.random(X.shape[0], 5, 0.3, random_state=seed))
    path = tmp_path / f"a{SUFFIX[kind]}{ending}"
    write(Dataset(Y=Y, X=X, name="a"), path, format=kind)
    found = read(path)
    exact = kind not in ("svmlight", "jsonl")  # these are as wide as their largest id
    same(found.X, X, width=exact)
    if kind == "jsonl":
        names = [int(name) for name in found.label_names or ()]
        same(found.relabel([str(i) for i in range(5)]).Y, Y)
        assert sorted(names) == sorted(set(Y.indices.tolist()))
    else:
        same(found.Y, Y, width=exact)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(NAMES, st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=2, max_size=2))
def test_texts_names_and_ids_survive_in_json(tmp_path: Path, names: list[str], texts: list[str]) -> None:
    Y = sp.csr_matrix(np.array([[1, 1, 0], [0, 1, 1]], dtype=np.float32))
    write(Dataset(Y=Y, texts=texts, label_names=names, ids=["x", "y"]), tmp_path / "a.jsonl")
    found = read(tmp_path / "a.jsonl")
    assert (found.texts, found.ids) == (texts, ["x", "y"])
    same(found.relabel(names).Y, Y)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(NAMES, NAMES)
def test_arff_keeps_names_apart(tmp_path: Path, labels: list[str], features: list[str]) -> None:
    matrix = sp.csr_matrix(np.array([[1, 1, 0], [0, 1, 1]], dtype=np.float32))
    write(Dataset(Y=matrix, X=matrix, label_names=labels, feature_names=features), tmp_path / "a.arff")
    found = read(tmp_path / "a.arff")
    same(found.Y, matrix)
    same(found.X, matrix)
    printable = [name for name in features if name.isprintable() and " ".join(name.split()) == name]
    assert set(printable) <= set(found.feature_names or ())


def test_names_go_to_files_beside(tmp_path: Path, good: Path) -> None:
    dataset = replace(read(good / "old.txt"), label_names=["a", "b\nc", "d"])
    folder = tmp_path / "new"
    folder.mkdir()
    write(dataset, folder / "a.txt")
    assert [path.name for path in write_names(dataset, folder)] == ["labels.txt"]
    assert read(folder / "a.txt").label_names == ["a", "b c", "d"]
    assert write_names(dataset, folder, overwrite=False) == []


def test_equal_data_gives_equal_files(tmp_path: Path, good: Path) -> None:
    for name in ("a.txt.gz", "b.txt.gz"):
        write(read(good / "old.txt"), tmp_path / name)
    assert (tmp_path / "a.txt.gz").read_bytes() == (tmp_path / "b.txt.gz").read_bytes()


def test_nothing_is_left_of_a_write_that_fails(tmp_path: Path, good: Path) -> None:
    folder = tmp_path / "new"
    folder.mkdir()
    (folder / "old.arff").write_text("precious")
    broken = replace(read(good / "m.arff"), label_names=["a", "\ud800"])
    with pytest.raises(UnicodeEncodeError):
        write(broken, folder / "old.jsonl")
    with pytest.raises(DataError, match="cannot be written"):
        write(read(good / "m.arff"), folder / "old.arff", labels=folder / "missing" / "x.xml")
    assert [path.name for path in folder.iterdir()] == ["old.arff"]
    assert (folder / "old.arff").read_text() == "precious"


def test_what_cannot_be_written(tmp_path: Path, good: Path) -> None:
    with pytest.raises(DataError, match="only texts"):
        write(read(good / "rows.jsonl"), tmp_path / "a.txt")
    with pytest.raises(ParameterError, match="cannot write the format 'parquet'"):
        write(read(good / "rows.jsonl"), tmp_path / "a.parquet")
    with pytest.raises(DataError, match="the same name"):
        write(read(good / "old.txt"), tmp_path / "a.arff", labels=tmp_path / "a.arff")
