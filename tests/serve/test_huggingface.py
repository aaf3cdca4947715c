"""Hugging Face's and text-embeddings-inference's forms of a text classification."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient


@pytest.mark.parametrize("path", ["/", "/predict"])
def test_the_shape_of_the_answer_follows_the_shape_of_the_inputs(client: TestClient, path: str) -> None:
    one = client.post(path, json={"inputs": "a red bike"}).json()
    assert one[0]["label"] == "bike"
    assert set(one[0]) == {"label", "score"}
    many = client.post(path, json={"inputs": ["a red bike", "a boat"]}).json()
    assert [row[0]["label"] for row in many] == ["bike", "boat"]
    assert many == client.post(path, json={"inputs": [["a red bike"], ["a boat"]]}).json()


def test_parameters_nest_the_answer(client: TestClient) -> None:
    body = {"inputs": "a red bike", "parameters": {"top_k": 2, "function_to_apply": "sigmoid"}}
    answer = client.post("/predict", json=body).json()
    assert [len(row) for row in answer] == [2]


@pytest.mark.parametrize("inputs", [None, [], [["a", "b"]], 5, {"a": 1}])
def test_errors_have_a_type(client: TestClient, inputs: object) -> None:
    answer = client.post("/predict", json={"inputs": inputs})
    assert answer.status_code in (400, 422)
    assert set(answer.json()) == {"error", "error_type"}
