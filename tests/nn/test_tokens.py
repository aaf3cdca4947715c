"""First token embeddings: scale, latent semantics, word vectors from a file and their errors."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.errors import DataError, ParameterError
from zipfel.nn.tokens import token_table
from zipfel.nn.word_vectors import read_word_vectors


def _rows() -> sp.csr_matrix:
    """Features 0-4 keep company, and features 5-9; feature 10 never occurs."""
    rng = np.random.default_rng(0)
    X = np.zeros((80, 11), dtype=np.float32)
    for row in range(80):
        X[row, rng.choice(5, 3, replace=False) + 5 * (row % 2)] = 1 / np.sqrt(3)
    return sp.csr_matrix(X)


@pytest.mark.parametrize("kind", ["random", "corpus"])
@pytest.mark.parametrize("dim", [4, 32])
def test_bags_start_at_one_length(kind: str, dim: int) -> None:
    table = token_table(_rows(), dim, np.random.default_rng(1), kind=kind)
    assert table.shape == (11, dim)
    assert table.dtype == np.float32
    assert np.isfinite(table).all()
    assert np.sqrt(np.square(_rows() @ table).sum(axis=1).mean()) == pytest.approx(1.6, rel=1e-3)


def test_corpus_tokens_that_keep_company_are_near() -> None:
    table = token_table(_rows(), 8, np.random.default_rng(1), kind="corpus")
    units = table[:10] / np.linalg.norm(table[:10], axis=1, keepdims=True)
    near = units @ units.T
    assert near[:5, :5].mean() > near[:5, 5:].mean() + 0.15


def test_rows_without_features_do_no_harm() -> None:
    assert np.isfinite(token_table(sp.csr_matrix((3, 4), dtype=np.float32), 2, np.random.default_rng(0))).all()


@pytest.mark.parametrize("packed", [False, True])
def test_word_vectors_with_and_without_header(tmp_path: Path, packed: bool) -> None:
    for number, header in enumerate(["", "3 2\n"]):
        path = tmp_path / f"{number}.vec{'.gz' if packed else ''}"
        text = header + "apple 1.0 2.0\nThe 0.5 -1\npear 3 4\n"
        path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
        table = np.zeros((3, 2), dtype=np.float32)
        assert read_word_vectors(path, ["pear", "the", "unknown"], table) == 2
        assert table.tolist() == [[3.0, 4.0], [0.5, -1.0], [0.0, 0.0]]


@pytest.mark.parametrize("line", ["apple 1.0", "apple 1.0 x", "apple nan 1"])
def test_a_bad_line_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "bad.vec"
    path.write_text(f"pear 1 2\n{line}\n")
    with pytest.raises(DataError, match=r"bad.vec:2"):
        read_word_vectors(path, ["apple"], np.zeros((1, 2), dtype=np.float32))


def test_tokens_from_a_file_need_names_and_words(tmp_path: Path) -> None:
    path = tmp_path / "words.vec"
    path.write_text("apple 1 2\n")
    X, rng = sp.csr_matrix(np.eye(2, dtype=np.float32)), np.random.default_rng(0)
    with pytest.raises(ParameterError, match="names"):
        token_table(X, 2, rng, kind="file", path=str(path))
    with pytest.raises(ParameterError, match="none of the features"):
        token_table(X, 2, rng, kind="file", path=str(path), names=["x", "y"])
    table = token_table(X, 2, rng, kind="file", path=str(path), names=["apple", "y"])
    assert table[0, 1] == pytest.approx(2 * table[0, 0])
