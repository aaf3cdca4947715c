"""Our own API."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from starlette.testclient import TestClient

from tests.serve.serving import LABELS, TEXTS, client_of, loaded
from zipfel import Zipfel
from zipfel.decisions import OBJECTIVES
from zipfel.serve.core import Service
from zipfel.serve.schemas import Objective


def test_predict_gives_what_the_model_predicts(client: TestClient, model: Zipfel) -> None:
    answer = client.post("/v1/predict", json={"texts": ["a red bike", "a boat"], "k": 2})
    assert answer.status_code == 200
    results = answer.json()["results"]
    expected = [[name for name, _ in row] for row in model.predict(["a red bike", "a boat"], 2).rows()]
    assert [[label["id"] for label in result["labels"]] for result in results] == expected
    scores = [label["score"] for result in results for label in result["labels"]]
    assert all(0 <= score <= 1 for score in scores)


def test_one_text_has_one_result_and_the_service_gives_its_k(client: TestClient) -> None:
    results = client.post("/v1/predict", json={"text": "red bike on the water"}).json()["results"]
    assert len(results) == 1
    assert len(results[0]["labels"]) == 5


def test_the_threshold_leaves_labels_out(client: TestClient) -> None:
    labels = client.post("/v1/predict", json={"text": "red bike on the water"}).json()["results"][0]["labels"]
    scores = [row["score"] for row in labels]
    cut = (scores[0] + scores[-1]) / 2
    kept = client.post("/v1/predict", json={"text": "red bike on the water", "threshold": cut}).json()["results"][0][
        "labels"
    ]
    assert [row["score"] for row in kept] == [score for score in scores if score >= cut]
    assert 0 < len(kept) < len(scores)


@pytest.mark.parametrize("wish", [{"optimise": "micro-f1"}, {"threshold": "auto"}, {"threshold": "auto:document"}])
def test_the_model_chooses_how_many_labels(client: TestClient, model: Zipfel, wish: dict[str, str]) -> None:
    texts = ["red bike", "the station"]
    results = client.post("/v1/predict", json={"texts": texts, "k": 4, **wish}).json()["results"]
    expected = model.predict_sets(texts, limit=4, **wish).names
    assert [[label["id"] for label in result["labels"]] for result in results] == expected


def test_the_objectives_are_those_of_the_library() -> None:
    assert get_args(Objective) == OBJECTIVES


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({}, "exactly one"),
        ({"text": "a", "texts": ["b"]}, "exactly one"),
        ({"text": 5}, "string"),
        ({"text": "a", "k": 0}, "k must lie between 1 and 1000"),
        ({"text": "a", "k": 10**6}, "k must lie"),
        ({"text": "a", "threshold": 2}, "less than or equal to 1"),
        ({"text": "a", "threshold": "never"}, "auto"),
        ({"text": "a", "optimise": "accuracy"}, "micro-f1"),
        ({"text": "a", "optimise": "psp", "threshold": 0.5}, "two ways"),
        ({"text": "a", "treshold_x": 0.1}, "Extra inputs"),
        ({"text": "a", "model": "other"}, "no model 'other'"),
        ({"texts": ["a"] * 300}, "256 documents"),
        ({"text": "a" * 600_000}, "500,000 characters"),
        ({"rows": [{"a": 1.0}]}, "trained on texts"),
    ],
)
def test_a_wrong_body_is_refused_with_a_sentence(client: TestClient, body: dict[str, object], says: str) -> None:
    answer = client.post("/v1/predict", json=body)
    assert answer.status_code in (404, 422)
    assert says in answer.json()["error"]["message"]


def test_half_a_surrogate_pair_is_refused(client: TestClient) -> None:
    answer = client.post("/v1/predict", content=b'{"text": "\\ud800"}', headers={"content-type": "application/json"})
    assert answer.status_code == 422


def test_rows_of_features_are_predicted_by_a_model_of_features(tmp_path: Path) -> None:
    X, Y = np.eye(3, dtype=np.float32).repeat(4, axis=0), np.eye(3, dtype=int).repeat(4, axis=0)
    Zipfel(method="knn").fit(X, Y).save(tmp_path / "rows")
    client = client_of(loaded(tmp_path / "rows"))
    results = client.post("/v1/predict", json={"rows": [{"2": 1.0}, {"0": 2.5}], "k": 1}).json()["results"]
    assert [row["labels"][0]["id"] for row in results] == ["2", "0"]
    for rows in ([{"3": 1.0}], [{"x": 1.0}], [{"-1": 1.0}]):
        assert client.post("/v1/predict", json={"rows": rows}).status_code == 422
    assert client.post("/v1/predict", json={"text": "a"}).status_code == 422


def test_explain_tells_the_words_and_the_nearest_documents(folder: Path) -> None:
    train = folder.parent / "train.jsonl"
    train.write_text("".join(json.dumps({"text": t, "labels": y}) + "\n" for t, y in zip(TEXTS, LABELS, strict=True)))
    service = Service({"things": folder}, train={"things": str(train)})
    asyncio.run(service.load())
    told = client_of(service).post("/v1/explain", json={"text": "my red bike!", "labels": ["bike"]}).json()
    assert "".join(piece["text"] for piece in told["pieces"]) == "my red bike!"
    (label,) = told["labels"]
    assert label["id"] == "bike"
    assert 0 <= label["score"] <= 1
    assert len(label["contributions"]) == len(told["words"])
    assert label["nearest"][0]["opening"] == TEXTS[label["nearest"][0]["row"]]
    assert "bike" in label["nearest"][0]["opening"]


def test_an_unknown_label_is_not_explained(client: TestClient) -> None:
    answer = client.post("/v1/explain", json={"text": "a bike", "labels": ["spaceship"]})
    assert answer.status_code == 422
    assert "/v1/labels" in answer.json()["error"]["message"]


def test_labels_are_found_by_each_word_of_their_name(client: TestClient) -> None:
    assert [row["id"] for row in client.get("/v1/labels?query=Bi").json()["labels"]] == ["bike"]
    assert [row["id"] for row in client.get("/v1/labels?query=any").json()["labels"]] == ["vehicle::any"]
    assert client.get("/v1/labels?query=").status_code == 422


def test_models_and_the_card_of_one(client: TestClient) -> None:
    (model,) = client.get("/v1/models").json()["models"]
    assert (model["name"], model["method"], model["n_labels"], model["input"]) == ("things", "knn", 5, "text")
    assert client.get("/v1/models/things").json()["training"]["n_points"] == len(TEXTS)
    assert client.get("/v1/models/thing").status_code == 404
