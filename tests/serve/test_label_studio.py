"""Label Studio's ML backend."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from zipfel.serve.label_studio import read_control

VIEW = '<View><Text name="t" value="$body"/><Choices name="c" toName="t" choice="multiple">{}</Choices></View>'


def test_tasks_get_the_labels_that_the_interface_lists(client: TestClient) -> None:
    config = VIEW.format('<Choice value="bike"/><Choice value="boat"/>')
    body = {"tasks": [{"id": 1, "data": {"body": "red bike on the water", "other": "boat"}}], "label_config": config}
    (result,) = client.post("/predict", json=body).json()["results"]
    (region,) = result["result"]
    assert (region["from_name"], region["to_name"], region["type"]) == ("c", "t", "choices")
    assert region["value"]["choices"] == ["bike", "boat"]
    assert 0 <= result["score"] <= 1


def test_a_taxonomy_gets_paths() -> None:
    control = read_control('<View><Text name="t" value="$x"/><Taxonomy name="y" toName="t"/></View>')
    assert (control.kind, control.field) == ("taxonomy", "x")


@pytest.mark.parametrize(
    "config",
    ["<View", "<View/>", '<!DOCTYPE a [<!ENTITY b "c">]><View/>'],
)
def test_a_bad_interface_is_refused(client: TestClient, config: str) -> None:
    body = {"tasks": [{"id": 1, "data": {"text": "a"}}], "label_config": config}
    assert client.post("/predict", json=body).status_code == 422
    assert client.post("/setup", json={"project": "1", "schema": config}).status_code == 422


def test_setup_and_health(client: TestClient) -> None:
    assert (
        client.post("/setup", json={"project": "1.2", "schema": VIEW.format("")}).json()["model_version"] == "things-1"
    )
    assert client.get("/health").json()["status"] == "UP"
