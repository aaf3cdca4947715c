"""What `zipfel predict` writes, and answers of a running service."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.test_main import real
from tests.serve.serving import LABELS, TEXTS, running
from zipfel import Zipfel
from zipfel.data import read

DOCUMENTS = ["a red bike", 'a "blue" boat, on\tthe water', "an old train"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("outputs")
    Zipfel(method="knn").fit(TEXTS, LABELS).save(folder / "things")
    lines = [json.dumps({"id": f"d{i}", "text": text}) for i, text in enumerate(DOCUMENTS)]
    (folder / "docs.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def expected(place: Path, k: int = 2) -> list[list[tuple[str, float]]]:
    return [list(row) for row in Zipfel.load(place / "things").predict(DOCUMENTS, k).rows()]


def predict(place: Path, *words: object) -> str:
    done = real("predict", place / "things", place / "docs.jsonl", "-k", 2, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(("name", "separator"), [("a.csv", ","), ("a.tsv", "\t"), ("a.csv.gz", ",")])
def test_a_table_has_a_row_for_each_label(place: Path, tmp_path: Path, name: str, separator: str) -> None:
    predict(place, "--output", tmp_path / name)
    data = (tmp_path / name).read_bytes()
    text = (gzip.decompress(data) if name.endswith("gz") else data).decode()
    rows = list(csv.DictReader(text.splitlines(), delimiter=separator))
    flat = [(str(i), f"d{i}", label) for i, row in enumerate(expected(place)) for label, _ in row]
    assert [(row["document"], row["id"], row["label"]) for row in rows] == flat
    assert [row["rank"] for row in rows] == ["1", "2"] * 3
    assert float(rows[0]["score"]) == pytest.approx(expected(place)[0][0][1], abs=1e-6)
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_json_lines(place: Path, tmp_path: Path) -> None:
    predict(place, "-o", tmp_path / "a.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == ["d0", "d1", "d2"]
    assert [row["labels"] for row in rows] == [[label for label, _ in row] for row in expected(place)]
    assert predict(place, "--to", "jsonl") == (tmp_path / "a.jsonl").read_text() == predict(place, "--json")


def test_parquet_has_a_row_for_each_document(place: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra parquet")
    predict(place, "-o", tmp_path / "a.parquet")
    rows = parquet.read_table(tmp_path / "a.parquet").to_pylist()
    assert [row["labels"] for row in rows] == [[label for label, _ in row] for row in expected(place)]
    assert rows[0]["scores"] == pytest.approx([score for _, score in expected(place)[0]])


def test_annifs_tsv_can_be_read_again(place: Path, tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(predict(place, "--to", "annif"))
    data = read(str(tmp_path / "a.tsv"))
    assert data.texts == ["a red bike", 'a "blue" boat, on the water', "an old train"]
    names = data.label_names or []
    found = [sorted(names[i] for i in data.Y[row].indices) for row in range(3)]
    assert found == [sorted(label for label, _ in row) for row in expected(place)]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--to", "xls"], "no output format 'xls'"),
        (["-o", "answers.xyz"], "does not say which format"),
        (["--to", "parquet"], "name a file"),
        (["-o", "/nowhere/a.csv"], "can't be written"),
        (["--url", "nonsense"], "takes an address"),
        (["--url", "http://127.0.0.1:9"], "can't be reached"),
        (["--url", "http://127.0.0.1:9", "--workers", "2"], "--url goes without"),
    ],
)
def test_what_cannot_be_written_is_told(place: Path, words: list[str], says: str) -> None:
    done = real("predict", place / "things", place / "docs.jsonl", *words)
    assert done.returncode != 0
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_failure_leaves_the_old_file(place: Path, tmp_path: Path) -> None:
    (tmp_path / "docs.jsonl").write_text('{"text": "a red bike"}\nnonsense\n')
    (tmp_path / "a.csv").write_text("old")
    done = real("predict", place / "things", tmp_path / "docs.jsonl", "-o", tmp_path / "a.csv")
    assert done.returncode != 0
    assert (tmp_path / "a.csv").read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 2


@pytest.fixture(scope="module")
def address(place: Path) -> Iterator[str]:
    pytest.importorskip("fastapi", reason="needs the extra serve")
    with running(place / "things", "--quiet", env={"ZIPFEL_TOKENS": "t1"}) as (found, _):
        yield found


def test_a_service_gives_the_same_answers(place: Path, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZIPFEL_TOKEN", "t1")
    assert predict(place, "--json", "--url", address) == predict(place, "--json")
    wanted = ("--json", "--threshold", "auto")
    assert predict(place, *wanted, "--url", address) == predict(place, *wanted)


def test_a_service_that_refuses_is_told(place: Path, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    done = real("predict", place / "things", place / "docs.jsonl", "--url", address)
    assert done.returncode != 0
    assert "ZIPFEL_TOKEN" in done.stderr
    monkeypatch.setenv("ZIPFEL_TOKEN", "t1")
    done = real("predict", "other", place / "docs.jsonl", "--url", address)
    assert "no model 'other'" in done.stderr
