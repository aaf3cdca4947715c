"""The runner of the papers' tables on tiny data: measured, kept, drawn, shown again, a part of train."""

import json
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.papers.common import Published, Table, Variant, main
from benchmarks.papers.rows import markdown, value
from benchmarks.papers.word_vectors import train_vectors, write_vectors
from zipfel.data import Dataset, write
from zipfel.errors import ParameterError
from zipfel.features import Vectorizer
from zipfel.methods.popular import Popular
from zipfel.nn.word_vectors import read_word_vectors

pytest.importorskip("matplotlib")

TABLE = Table(
    name="table1",
    title="Table 1",
    variants=[Variant("ours", "popular"), Variant("again", "popular")],
    data=["tiny"],
    columns=("P@1", "train_seconds"),
    published=[Published("tiny", "ours", {"P@1": 12.5}), Published("Huge", "ours", {"P@1": 80.25})],
)


@pytest.fixture
def ask(tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(0)
    (tmp_path / "tiny").mkdir()
    for part in ("train", "test"):
        X = np.abs(rng.normal(size=(40, 8))).astype(np.float32)
        Y = (X[:, :4] > 0.9).astype(np.float32)
        write(Dataset(sp.csr_matrix(Y), sp.csr_matrix(X)), tmp_path / "tiny" / f"{part}.txt", format="xmc")

    def run(*words):
        folders = ("--shared", tmp_path, "--out", tmp_path / "out", "--rows", tmp_path, "--figures", tmp_path)
        monkeypatch.setattr(sys, "argv", ["papers", *map(str, folders), "--threads", "1", *words])
        main("paper", [TABLE])
        return capsys.readouterr().out

    return run


def test_rows_are_measured_kept_drawn_and_shown(ask, tmp_path):
    first = ask("--seeds", "2")
    rows = json.loads((tmp_path / "paper.json").read_text())
    assert [(row["variant"], row["seed"]) for row in rows] == [("ours", 1), ("again", 1), ("ours", 2), ("again", 2)]
    assert f"| ours | {value(rows[0], 'P@1'):.2f} ±0.00 |" in first
    assert "| *paper: ours* | 12.5 |  |" in first
    assert "| Huge: ours | 80.25 |  |" in first
    assert (tmp_path / "paper-table1.svg").read_text().startswith("<?xml")
    shown = ask("--show")
    assert "seed 1:" not in shown
    assert shown.strip() == first[first.index("###") :].strip()
    assert "30 points of train" in ask("--points", "30", "--seeds", "1")


def test_an_unknown_table_is_named(ask):
    with pytest.raises(ParameterError, match="did you mean"):
        ask("table2")


def test_seconds_of_phases_are_added():
    row = {"metrics": {"P@1": 0.5}, "phases": {"step 1: a": 1.0, "step 1: b": 2.0, "step 2": 4.0}, "train_seconds": 9.0}
    assert [value(row, column) for column in ("P@1", "step 1", "train_seconds")] == [50.0, 3.0, 9.0]
    assert markdown(TABLE, []).count("|") > 0


def test_variants_of_one_fit_differ_in_how_it_predicts(ask, tmp_path, monkeypatch):
    none = np.array([0, 0, 0, 1], dtype=np.float32)
    variants = [Variant("as it is", "popular", after={}), Variant("the last", "popular", after={"priors_": none})]
    variants.append(Variant("as it was", "popular", after={}))
    table = Table("after", "After", variants, ["tiny"], columns=("P@1", "P@3", "batch_ms"))
    ask("--seeds", "1")  # makes the rows
    folders = ("--shared", tmp_path, "--out", tmp_path / "out", "--rows", tmp_path, "--figures", tmp_path)
    monkeypatch.setattr(sys, "argv", ["papers", *map(str, folders), "--threads", "1", "--seeds", "1"])
    fits = []
    monkeypatch.setattr(Popular, "fit", lambda *given, fit=Popular.fit: fits.append(1) or fit(*given))
    main("after", [table])
    rows = json.loads((tmp_path / "after.json").read_text())
    first, last, again = (value(row, "P@3") for row in rows)
    assert last < first == again
    assert len(fits) == 1


def test_word_vectors_put_words_of_the_same_company_near(tmp_path):
    texts = ["red bike wheel chain", "red bike chain wheel", "blue boat sail mast", "blue boat mast sail"] * 200
    vectorizer = Vectorizer().fit(texts)
    vectors = train_vectors(texts, vectorizer, 8, passes=10)
    write_vectors(vectors, vectorizer.feature_names, tmp_path / "words.vec")
    table = np.zeros((vectorizer.n_features, 8), dtype=np.float32)
    assert read_word_vectors(tmp_path / "words.vec", vectorizer.feature_names, table) == 8
    units = table / np.linalg.norm(table, axis=1, keepdims=True)
    at = {name: units[i] for i, name in enumerate(vectorizer.feature_names)}
    assert at["bike"] @ at["chain"] > at["bike"] @ at["sail"] + 0.2
