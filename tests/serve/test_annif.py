"""Annif's API, shape by shape."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from zipfel.serve.core import Service


def test_projects_and_vocabularies(client: TestClient) -> None:
    assert set(client.get("/v1/").json()) == {"title", "version"}
    (project,) = client.get("/v1/projects").json()["projects"]
    assert project == client.get("/v1/projects/things").json()
    assert (project["project_id"], project["is_trained"]) == ("things", True)
    assert client.get("/v1/vocabs").json()["vocabs"][0]["size"] == 5


def test_a_project_that_is_not_there_is_a_problem_document(client: TestClient) -> None:
    answer = client.get("/v1/projects/nothing")
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert set(answer.json()) == {"type", "title", "status", "detail"}


def test_suggest_takes_a_form(client: TestClient) -> None:
    results = client.post("/v1/projects/things/suggest", data={"text": "a red bike", "limit": 2}).json()["results"]
    assert [row["label"] for row in results] == ["bike", "vehicle::any"]
    assert set(results[0]) == {"uri", "label", "notation", "score"}
    few = client.post("/v1/projects/things/suggest", data={"text": "a red bike", "threshold": results[0]["score"]})
    assert all(row["score"] >= results[0]["score"] for row in few.json()["results"])


@pytest.mark.parametrize("form", [{}, {"text": "a", "limit": "x"}, {"text": "a", "threshold": "nan"}])
def test_a_wrong_form_is_refused(client: TestClient, form: dict[str, str]) -> None:
    assert client.post("/v1/projects/things/suggest", data=form).status_code == 400


def test_a_batch_keeps_ids_and_has_at_most_32_documents(client: TestClient) -> None:
    documents = [{"text": "a red bike", "document_id": "x"}, {"text": "an old train"}]
    batch = client.post("/v1/projects/things/suggest-batch?limit=1", json={"documents": documents}).json()
    assert [(row["document_id"], row["results"][0]["label"]) for row in batch] == [("x", "bike"), (None, "train")]
    too_many = {"documents": [{"text": "a"}] * 33}
    assert client.post("/v1/projects/things/suggest-batch", json=too_many).status_code == 422


def test_learn_adds_documents_and_leaves_unknown_subjects_out(client: TestClient, service: Service) -> None:
    before = service.model().snapshot
    documents = [{"text": "unicycle " * 3, "subjects": [{"uri": "bike"}, {"uri": "unknown"}]}] * 4
    assert client.post("/v1/projects/things/learn", json=documents).status_code == 204
    after = service.model().snapshot
    assert after.model.training_["n_points"] == before.model.training_["n_points"] + 4
    assert after.model.n_labels_ == before.model.n_labels_


def test_languages_are_not_detected(client: TestClient) -> None:
    answer = client.post("/v1/detect-language", json={"text": "a", "languages": ["en"]})
    assert answer.status_code == 404
    assert answer.json()["detail"]
