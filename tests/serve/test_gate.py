"""What holds for every request: tokens, limits, headers, errors, log lines."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.serve.serving import client_of, loaded
from zipfel.serve.core import Service
from zipfel.serve.logs import log
from zipfel.serve.settings import Tokens


def test_a_token_is_needed_where_there_are_tokens(folder: Path) -> None:
    client = client_of(loaded(folder, Tokens(["one", "two"])))
    refused = client.post("/v1/predict", json={"text": "a"})
    assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
    for token, status in (("two", 200), ("three", 401), ("", 401)):
        headers = {"authorization": f"Bearer {token}"}
        assert client.post("/v1/predict", json={"text": "a"}, headers=headers).status_code == status
    assert [client.get(path).status_code for path in ("/healthz", "/readyz", "/", "/openapi.json")] == [200] * 4
    assert client.get("/metrics").status_code == 401


def test_a_large_body_is_refused(folder: Path) -> None:
    client = client_of(loaded(folder, max_body=1000))
    assert client.post("/v1/predict", json={"text": "a" * 900}).status_code == 200
    answer = client.post("/v1/predict", json={"text": "a" * 1000})
    assert answer.status_code == 413
    assert "1,000 bytes" in answer.json()["error"]["message"]


def test_a_full_service_refuses_further_requests_but_not_health(service: Service, client: TestClient) -> None:
    service.in_flight = service.settings.max_requests
    answer = client.post("/predict", json={"inputs": "a"})
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
    assert answer.json()["error_type"] == "Overloaded"
    assert client.get("/healthz").status_code == client.get("/metrics").status_code == 200


def test_before_the_models_are_loaded_the_service_is_not_ready(folder: Path) -> None:
    client = client_of(Service({"things": folder}))
    assert client.get("/healthz").status_code == 200
    assert client.get("/readyz").status_code == 503
    answer = client.post("/v1/predict", json={"text": "a"})
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")


def test_every_answer_has_the_security_headers_and_an_id(client: TestClient) -> None:
    for answer in (client.get("/"), client.get("/nowhere"), client.post("/v1/predict", json={})):
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in answer.headers
    assert client.get("/", headers={"x-request-id": "mine-1"}).headers["x-request-id"] == "mine-1"
    assert client.get("/", headers={"x-request-id": "a b<"}).headers["x-request-id"] != "a b<"


def test_other_origins_are_allowed_by_name_only(folder: Path) -> None:
    client = client_of(loaded(folder, origins=("https://a.example",)))
    for origin, allowed in (("https://a.example", "https://a.example"), ("https://b.example", None)):
        answer = client.post("/v1/predict", json={"text": "a"}, headers={"origin": origin})
        assert answer.headers.get("access-control-allow-origin") == allowed


def test_the_log_has_a_line_a_request_and_no_text(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(log, "stream", stream)
    client.post("/v1/predict", json={"text": "secret words"}, headers={"x-request-id": "r1"})
    client.get("/v1/labels?query=secret")
    client.post("/v1/predict", json={"text": {"secret": 1}})
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert (lines[0]["request_id"], lines[0]["route"], lines[0]["status"]) == ("r1", "/v1/predict", 200)
    assert len(lines) == 3
    assert "secret" not in stream.getvalue()


def test_a_fault_is_a_500_that_tells_nothing(
    service: Service, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(log, "stream", stream)

    def broken(*_: object) -> None:
        raise RuntimeError("secret words")

    monkeypatch.setattr(type(service.model().snapshot.model), "predict", broken)
    answer = client.post("/v1/predict", json={"text": "a"})
    assert answer.status_code == 500
    assert "secret" not in answer.text + stream.getvalue()
    assert "RuntimeError" in stream.getvalue()
    assert service.in_flight == 0


def test_metrics_count_requests_by_route(client: TestClient) -> None:
    client.post("/v1/predict", json={"texts": ["a", "b"]})
    client.get("/some/place")
    told = client.get("/metrics").text
    assert 'zipfel_requests_total{route="/v1/predict",status="200"} 1' in told
    assert 'zipfel_requests_total{route="other",status="404"} 1' in told
    assert 'zipfel_texts_total{model="things"} 2' in told
    assert 'zipfel_batch_texts_bucket{model="things",le="2"} 1' in told
