"""Feedback: kept in SQLite by the service, learned by `zipfel update --feedback`, each verdict once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.cli.test_main import zipfel
from tests.serve.serving import TEXTS
from zipfel import Zipfel
from zipfel.errors import DataError
from zipfel.serve.feedback import add_feedback, feedback_path, read_feedback


def test_the_last_verdict_holds_and_texts_without_an_accepted_label_are_left_out(tmp_path: Path) -> None:
    db = tmp_path / "db"
    add_feedback(db, "m", "one", ["a", "b"], ["c"])
    add_feedback(db, "m", "two", [], ["a"])
    add_feedback(db, "m", "one", ["c"], ["b"])
    found = read_feedback(db)
    assert (found.texts, found.tags) == (["one"], [["a", "c"]])
    assert (found.last, found.n_rejected, found.n_without) == (6, 2, 1)
    assert read_feedback(db, after=found.last).texts == []


def test_a_verdict_can_be_taken_back(tmp_path: Path) -> None:
    db = tmp_path / "db"
    add_feedback(db, "m", "one", ["a", "b"], ["c"])
    add_feedback(db, "m", "one", [], [], ["a", "c"])
    found = read_feedback(db)
    assert (found.texts, found.tags, found.n_rejected) == (["one"], [["b"]], 0)


def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    (tmp_path / "db").write_text("no database, but long enough to be looked at as one " * 40)
    with pytest.raises(DataError, match="feedback"):
        read_feedback(tmp_path / "db")
    with pytest.raises(DataError, match="no such file"):
        read_feedback(tmp_path / "none")


def test_from_the_service_to_the_model(client: TestClient, folder: Path) -> None:
    body = {"text": "a train on the water", "accepted": ["boat"], "rejected": ["train"]}
    assert client.post("/v1/feedback", json=body).json() == {"model": "things", "kept": 2}
    assert client.post("/v1/feedback", json={"text": "a", "accepted": ["unknown"]}).status_code == 422
    assert client.post("/v1/feedback", json={"text": "a"}).status_code == 422
    out = folder.parent / "new"
    for model, added in ((folder, 1), (out, 0)):
        done = zipfel("update", model, "--feedback", feedback_path(folder), "--out", out, "--json")
        assert json.loads(done.stdout.splitlines()[-1])["added"] == added
    learned = Zipfel.load(out)
    assert learned.training_["n_points"] == len(TEXTS) + 1


def test_update_needs_something_to_learn_from(folder: Path) -> None:
    assert zipfel("update", folder, "--help").exit_code == 0
    from zipfel.errors import ParameterError

    with pytest.raises(ParameterError, match="--feedback"):
        zipfel("update", folder)
