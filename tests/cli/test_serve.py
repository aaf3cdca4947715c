"""`zipfel serve` as an operator types it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")

from tests.cli.test_main import real
from tests.serve.serving import LABELS, TEXTS, get, running, until
from zipfel import Zipfel
from zipfel.cli.serve import named_files, named_folders, read_examples
from zipfel.errors import DataError, ParameterError


def test_it_serves_reloads_and_stops_with_0(tmp_path: Path) -> None:
    folder = tmp_path / "things"
    Zipfel(method="knn").fit(TEXTS, LABELS).save(folder)
    with running(folder) as (address, process):
        assert get(address, "/readyz") == (200, "ok\n")
        body = json.dumps({"text": "a red bike"}).encode()
        request = urllib.request.Request(f"{address}/v1/predict", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=20) as answer:
            assert json.loads(answer.read())["model"] == "things"
        Zipfel(method="knn").fit(TEXTS[:10], LABELS[:10]).save(folder)
        process.send_signal(signal.SIGHUP)
        until(lambda: json.loads(get(address, "/v1/models")[1])["models"][0]["n_labels"] == 3)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0


def test_a_folder_that_is_no_model_is_told_at_once(tmp_path: Path) -> None:
    done = real("serve", tmp_path / "nothing")
    assert done.returncode == 3
    assert "no such folder" in done.stderr


def test_models_and_training_files_by_name(tmp_path: Path) -> None:
    assert named_folders(["a/b", f"x={tmp_path}"]) == {"b": Path("a/b"), "x": tmp_path}
    assert named_files(["t.jsonl", "x=u.jsonl"], ["b", "x"], "--train") == {"b": "t.jsonl", "x": "u.jsonl"}
    for words in (["a/b", "c/b"], ["=a"], ["a/b=c"]):
        with pytest.raises(ParameterError):
            named_folders(words)
    with pytest.raises(ParameterError):
        named_files(["y=t"], ["b"], "--train")


def test_the_demo_serves_its_model_and_examples(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "zipfel", "demo", "--serve", "--port", "0", "--out", tmp_path / "tags"]
    environment = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=environment, bufsize=1
    )
    try:
        assert process.stderr is not None
        address = next(line.split()[-1] for line in process.stderr if line.startswith("serving on "))
        (model,) = json.loads(get(address, "/v1/models")[1])["models"]
        assert (model["name"], len(model["examples"])) == ("tags", 3)
        card = json.loads(get(address, "/v1/models/tags")[1])
        assert card["metrics"]["P@1"] > 0.7
        assert len(card["reliability"]["size"]) > 5
        assert "<textarea" in get(address, "/")[1]
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0
    finally:
        process.kill()
        process.wait()


def test_the_demo_without_serve_names_the_command(tmp_path: Path) -> None:
    assert "demo --serve" in real("demo", "--out", tmp_path / "tags").stdout


def test_examples_are_lines_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n\n two \n" + "three\n" * 20)
    assert read_examples(str(tmp_path / "a.txt"), 3) == ["one", "two", "three"]
    with pytest.raises(DataError, match="can't be read"):
        read_examples(str(tmp_path / "none"))
