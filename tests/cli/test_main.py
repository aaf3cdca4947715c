"""The command line as a user types it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from zipfel.cli.main import app, main
from zipfel.errors import ParameterError
from zipfel.methods import method_names

ROWS = [
    {"id": "1", "text": "red bike wheel", "labels": ["bike"]},
    {"id": "2", "text": "blue boat sail", "labels": ["boat"]},
    {"id": "3", "text": "red boat paint", "labels": ["boat", "paint"]},
    {"id": "4", "text": "bike chain oil", "labels": ["bike", "oil"]},
]


@pytest.fixture
def train(tmp_path: Path) -> Path:
    path = tmp_path / "train.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


@pytest.fixture
def model(train: Path, tmp_path: Path) -> Path:
    out = tmp_path / "model"
    done = zipfel("fit", train, "--method", "knn", "--out", out, "--set", "n_neighbors=2")
    assert done.exit_code == 0, done.output
    return out


def zipfel(*words: object, stdin: str | None = None):  # type: ignore[no-untyped-def]
    return CliRunner().invoke(app, [str(w) for w in words], input=stdin, catch_exceptions=False)


def real(*words: object, stdin: str = "", folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The console script in a process of its own, as errors and exit codes are its business."""
    command = [sys.executable, "-m", "zipfel", *map(str, words)]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, cwd=folder, timeout=120)


def test_fit_with_test_prints_json(train: Path, tmp_path: Path) -> None:
    done = zipfel("fit", train, "--method", "knn", "--out", tmp_path / "m", "--test", train, "--json")
    scores = json.loads(done.stdout.strip().splitlines()[-1])
    assert scores["P@1"] == 1.0
    assert {"nDCG@3", "PSP@5", "seconds", "model_mb"} <= scores.keys()


def test_fit_ends_with_the_one_figure(train: Path, tmp_path: Path) -> None:
    words = ("fit", train, "--method", "knn", "--out", tmp_path / "m")
    assert "P@1" not in zipfel(*words).stdout.splitlines()[-1]
    last = zipfel(*words, "--test", train).stdout.splitlines()[-1]
    assert "P@1 100.00 on test; model of" in last


def test_evaluate(model: Path, train: Path) -> None:
    done = zipfel("evaluate", model, train, "--k", "1,2", "--json")
    scores = json.loads(done.stdout)
    assert scores["P@1"] == 1.0
    assert scores["n_points"] == 4
    assert "P@2" in scores
    assert "PSP tail" in zipfel("evaluate", model, train).stdout


def test_propensities_of_fit_and_evaluate(model: Path, train: Path, tmp_path: Path) -> None:
    words = ("fit", train, "--method", "knn", "--out", tmp_path / "m", "--propensity", "AmazonTitles-670K")
    zipfel(*words)
    kept, given, usual = (
        json.loads(zipfel("evaluate", folder, train, "--k", "5", "--json", *more).stdout)["PSnDCG@5"]
        for folder, more in ((tmp_path / "m", ()), (model, ("--propensity", "0.6,2.6")), (model, ()))
    )
    assert kept == given != usual


def test_predict_from_standard_input(model: Path) -> None:
    done = real("predict", model, "-", "-k", "1", stdin="a red bike\na blue boat\n")
    assert done.returncode == 0, done.stderr
    assert [line.split("\t")[1].split()[0] for line in done.stdout.splitlines()] == ["bike", "boat"]


def test_predict_json_lines(model: Path, train: Path) -> None:
    done = zipfel("predict", model, train, "-k", "9", "--json")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["id"] for row in rows] == ["1", "2", "3", "4"]
    assert rows[0]["labels"][0] == "bike"
    assert len(rows[0]["labels"]) == len(rows[0]["scores"]) <= 4


def test_info(model: Path) -> None:
    facts = json.loads(zipfel("info", model, "--json").stdout)
    assert facts["method"] == "knn"
    assert facts["n_labels"] == 4
    short = zipfel("info", model).stdout.splitlines()
    assert len(short) <= 20
    assert all("\t" in line for line in short)  # lines for programs, where there is no terminal
    assert any("fit: 4 documents from train" in line for line in short)
    assert "fingerprint" in zipfel("info", model, "--all").stdout


def test_update_knows_documents_by_their_ids(model: Path, train: Path) -> None:
    assert "0 documents and 0 new labels added" in zipfel("update", model, train).stdout
    more = train.with_name("more.jsonl")
    more.write_text(train.read_text() + json.dumps({"id": "5", "text": "a new boat", "labels": ["new"]}) + "\n")
    done = zipfel("update", model, more)
    assert "1 documents and 1 new labels added" in done.stdout
    assert "4 documents are left out: the model knows their ids" in done.stderr
    assert "update: 1 documents, 1 new labels, 4 left out from more" in zipfel("info", model).stdout


def test_metrics_are_lines_where_the_output_is_no_terminal(model: Path, train: Path) -> None:
    lines = zipfel("evaluate", model, train).stdout.splitlines()
    assert lines[1] == "metric (%)\t@1\t@3\t@5"
    assert lines[2].startswith("P\t100.00\t")


def test_names_that_look_like_markup_are_shown_as_they_are(tmp_path: Path) -> None:
    from zipfel.cli.show import console, fact_table, prediction_table

    screen = console()
    with screen.capture() as shown:
        screen.print(prediction_table("[red]", [("[bold]name[/bold]", 1.0)]))
        screen.print(fact_table({"P@1[tail]": 3}))
    assert all(word in shown.get() for word in ("[red]", "[bold]name[/bold]", "P@1[tail]"))


def test_names_of_parameters_are_whole_in_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = zipfel("methods", "auto").stdout
    assert {"regression.landmarks", "label_sets.epochs", "classifiers.positive_cost"} <= set(shown.split())


def test_methods() -> None:
    shown = zipfel("methods").stdout
    assert shown.splitlines()[0].startswith("auto ")
    assert [line.split()[0] for line in shown.splitlines()] == ["auto", *(n for n in method_names() if n != "auto")]
    one = zipfel("methods", "mnn").stdout
    assert max(map(len, one.splitlines())) <= 80
    assert "best: loss=infonce" in one
    listed = json.loads(zipfel("methods", "knn", "--json").stdout)
    assert "n_neighbors" in listed["knn"]["parameters"]


@pytest.mark.parametrize(
    ("words", "said", "code"),
    [
        (["fit", "nowhere.jsonl", "--method", "knn"], "nowhere.jsonl", 2),
        (["fit", "train.jsonl", "--method", "nn"], "unknown method", 64),
        (["fit", "train.jsonl", "--method", "knn", "--set", "n_neigbors=3"], "n_neighbors", 64),
        (["fit", "train.jsonl", "--method", "knn", "--set", "n_neighbors=many"], "whole number", 64),
        (["fit", "train.jsonl", "--method", "knn", "--set", "n_neighbors"], "KEY=VALUE", 64),
        (["fit", "train.jsonl", "--method", "knn", "--out", "."], "choose another name", 3),
        (["evaluate", "nothing", "train.jsonl"], "not a model folder", 3),
        (["predict", "train.jsonl"], "not a model folder", 3),
        (["info", "."], "not a zipfel model", 3),
    ],
)
def test_errors_are_one_sentence(train: Path, words: list[str], said: str, code: int) -> None:
    done = real(*words, folder=train.parent)
    assert done.returncode == code
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not done.stdout
    assert not (train.parent / "model").exists()


def test_debug_shows_where_it_happened(train: Path) -> None:
    assert "Traceback" in real("info", ".", "--debug", folder=train.parent).stderr


def test_help_is_light() -> None:
    """No heavy import for --help: each would cost everyone half a second."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "zipfel", "--help"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0
    loaded = {line.rsplit("|", 1)[-1].strip() for line in done.stderr.splitlines() if "|" in line}
    assert not loaded & {"torch", "numba", "numpy", "scipy", "faiss", "sklearn"}


def test_version() -> None:
    from zipfel import __version__

    assert __version__ in zipfel("--version").stdout


@pytest.mark.parametrize(
    "words", [("predict", "m", "-k", "0"), ("nope",), ("fit",), ("fit", "x", "--nope"), ("data", "nope")]
)
def test_wrong_usage_is_one_sentence(words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    monkeypatch.setattr(sys, "argv", ["zipfel", *words])
    with pytest.raises(SystemExit) as stopped:
        main()
    for number, handler in before.items():
        signal.signal(number, handler)
    assert stopped.value.code == 64
    sentence = capsys.readouterr().err
    assert sentence.startswith("zipfel: ")
    assert sentence.count("\n") == 1
    assert "--help" in sentence


def test_a_line_a_document_whatever_the_names(tmp_path: Path) -> None:
    rows = [
        {"id": "a\tb", "text": "red bike", "labels": ["new\nline", "[bold]tab\tbed"]},
        {"id": "2", "text": "boat", "labels": ["x"]},
    ]
    file = tmp_path / "odd.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert zipfel("fit", file, "--out", tmp_path / "m").exit_code == 0
    shown = zipfel("predict", tmp_path / "m", file, "-k", "1000000000").stdout
    assert [line.split("\t")[0] for line in shown.splitlines()] == ["a b", "2"]
    assert "new line" in shown
    assert "[bold]tab bed" in shown


@pytest.mark.parametrize(
    "words",
    [
        ("--weighting", "x"),
        ("--propensity", "x"),
        ("--set", "vectorizer.nope=1"),
        ("--set", "nope=1"),
        ("--device", "gpu"),
    ],
)
def test_a_wrong_parameter_is_told_before_the_file_is_read(tmp_path: Path, words: tuple[str, ...]) -> None:
    with pytest.raises(ParameterError):
        zipfel("fit", tmp_path / "not-there.jsonl", "--out", tmp_path / "m", *words)


def test_standard_input_is_plain_text_and_answers_have_a_schema(model: Path) -> None:
    done = zipfel("predict", model, "--json", "--k", "1", stdin="text, with, labels\n1 2 3\n{curly} bike\n")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["schema"], row["id"], len(row["labels"])) for row in rows] == [(1, None, 1)] * 3


def test_bad_lines_by_on_error(model: Path, tmp_path: Path) -> None:
    file = tmp_path / "docs.jsonl"
    file.write_text('{"text": "bike", "id": "a"}\n{"text": 7}\n{"text": "boat"}\n')
    done = real("predict", model, file, "--json", "-k", "1")
    assert (done.returncode, len(done.stdout.splitlines())) == (2, 1)
    assert done.stderr.startswith(f'zipfel: {file}:2: "text" must be text')
    done = real("predict", model, file, "--json", "--on-error", "null")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0
    assert [(row["id"], row["labels"] is None) for row in rows] == [("a", False), (None, True), (None, False)]
    assert "docs.jsonl:2" in rows[1]["error"]
    done = real("predict", model, file, "--on-error", "skip")
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 2)
    assert "docs.jsonl:2" in done.stderr
    assert real("predict", model, file, "--on-error", "shrug").returncode == 64


def test_no_control_character_reaches_the_terminal(tmp_path: Path) -> None:
    odd = "\x1b[31mred\x9b0m\u202e"
    file = tmp_path / "odd.jsonl"
    rows = [{"id": odd, "text": "bike " + odd, "labels": [odd]}, {"id": "2", "text": "boat", "labels": ["x"]}]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert zipfel("fit", file, "--method", "knn", "--out", tmp_path / "m").exit_code == 0
    for words in ((), ("--json",)):
        done = zipfel("predict", tmp_path / "m", file, *words)
        assert not {"\x1b", "\x9b", "\u202e"} & set(done.stdout + done.stderr)
    assert json.loads(done.stdout.splitlines()[0])["labels"][0] == odd
    assert "\x1b" not in real("predict", tmp_path / "m", "\x1b[31mno-such-file").stderr
