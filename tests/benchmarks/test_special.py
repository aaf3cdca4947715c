"""Tables that the bench has no rows for: label noise takes the share that it is given; rows are kept, shown, drawn."""

import argparse

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.papers import trial
from benchmarks.papers.rankae import _facets, dropped, flipped, replaced
from benchmarks.papers.special import Special

pytest.importorskip("matplotlib")


def some():
    return sp.csr_matrix((np.random.default_rng(0).random((400, 30)) < 0.1).astype(np.float32))


@pytest.mark.parametrize(
    ("noise", "kept", "added"), [(dropped, 0.6, 0.0), (replaced, 0.6, 0.4), (flipped, 0.6, 0.4 * 9)]
)
def test_noise_takes_the_share_it_is_given(noise, kept, added):
    Y, rng = some(), np.random.default_rng(1)
    found = noise(Y, 0.4, rng)
    same = found.multiply(Y).nnz
    assert same / Y.nnz == pytest.approx(kept, abs=0.06)
    assert (found.nnz - same) / Y.nnz == pytest.approx(added, abs=0.4)
    assert (noise(Y, 0.0, rng) != Y).nnz == 0


def test_a_facet_is_what_stands_before_the_colons(tmp_path):
    file = tmp_path / "labels.txt"
    file.write_text("role::program\nuse::play\nrole::data\n")
    assert _facets(file).toarray().tolist() == [[1, 0], [0, 1], [1, 0]]


def test_rows_are_measured_kept_and_drawn(tmp_path, capsys):
    rows = [{"x": x, "who": who, "y": x * 2.0} for x in (1, 2) for who in ("a", "b")]
    special = Special("toy", "A toy", ("x", "who", "y"), lambda asked, data: iter(rows), ("d",), "x", "who", "y")
    asked = argparse.Namespace(rows=tmp_path, figures=tmp_path, pages=tmp_path, show=False, data=[], points=0)
    page = tmp_path / "paper.md"
    page.write_text("a\n<!-- table: toy, picture -->\nold\n<!-- end -->\nb\n")
    special.run(asked, "paper")
    special.run(argparse.Namespace(**{**vars(asked), "show": True}), "paper")
    shown = capsys.readouterr().out
    assert shown.count("| d | 2 | b | 4 |") == 2
    written = page.read_text()
    assert written.startswith("a\n<!-- table: toy, picture -->\n### A toy\n")
    assert written.endswith("\n![A toy](paper-toy.svg)\n<!-- end -->\nb\n")
    assert "old" not in written
    assert (tmp_path / "paper-toy.svg").read_text().startswith("<?xml")
    special.run(argparse.Namespace(**{**vars(asked), "points": 4000}), "paper")
    shown = capsys.readouterr().out
    assert "| d | 2 | b | 4 |" in shown
    assert "| d, 4,000 points | 2 | b | 4 |" in shown


def test_settings_are_tried_on_points_held_out_of_train(tmp_path, capsys):
    rng = np.random.default_rng(0)
    (folder := tmp_path / "toy").mkdir()
    for part, n in (("train", 80), ("test", 8)):
        labels = rng.integers(4, size=n)
        lines = (f"{label} {label}:1 {4 + rng.integers(6)}:0.5\n" for label in labels)
        (folder / f"{part}.txt").write_text(f"{n} 10 4\n" + "".join(lines))
    trial.main(["toy", "knn", "popular", "--shared", str(tmp_path), "--out", str(tmp_path / "out"), "--points", "40"])
    shown = capsys.readouterr().out
    assert "40 points learnt from, 20 held out" in shown
    rows = {line.split("|")[1].strip(): line.split("|")[2].strip() for line in shown.splitlines() if line[:2] == "| "}
    assert float(rows["knn"]) == 100
    assert float(rows["popular"]) < 60
