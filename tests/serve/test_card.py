"""The model's card, and the files of the page."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path

from starlette.testclient import TestClient

from tests.serve.serving import LABELS, TEXTS, client_of, loaded
from zipfel import Zipfel
from zipfel.serve.page import read_files


def test_the_card_of_a_model_that_was_measured(tmp_path: Path) -> None:
    model = Zipfel(method="knn").fit(TEXTS, LABELS)
    model.metrics_ = model.evaluate(TEXTS, LABELS)
    found = model.reliability(TEXTS, LABELS)
    assert found is not None
    model.training_["reliability"] = asdict(found)
    model.save(tmp_path / "things")
    client = client_of(loaded(tmp_path / "things"))
    card = client.get("/v1/models/things").json()
    assert card["metrics"]["P@1"] == model.metrics_["P@1"]
    assert sum(card["reliability"]["size"]) == len(TEXTS) * 5
    assert (card["measured_documents"], card["parts"]) == (len(TEXTS), [])
    assert card["bytes"] > 1000
    client.post("/v1/update", json={"documents": [{"text": "a boat", "labels": ["boat"]}]})
    after = client.get("/v1/models/things").json()
    assert (after["measured_documents"], after["training"]["n_points"]) == (len(TEXTS), len(TEXTS) + 1)
    assert after["metrics"] == card["metrics"]


def test_the_card_of_auto_has_its_parts(tmp_path: Path) -> None:
    Zipfel(preset="quick").fit(TEXTS * 5, LABELS * 5).save(tmp_path / "things")
    card = client_of(loaded(tmp_path / "things")).get("/v1/models/things").json()
    assert "words" in [row["part"] for row in card["parts"]]
    assert (card["metrics"], card["reliability"]) == ({}, None)


def test_files_of_the_page_are_kept_by_browsers_until_they_change(client: TestClient) -> None:
    first = client.get("/page/app.js")
    assert first.headers["content-type"].startswith("text/javascript")
    again = client.get("/page/app.js", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert client.get("/page/__init__.py").status_code == client.get("/page/..%2fapp.py").status_code == 404
    assert client.get("/docs").status_code == client.get("/").status_code == 200


def test_the_page_asks_no_other_host_and_has_no_inline_script() -> None:
    files = {name: data.decode() for name, (data, _, _) in read_files().items()}
    for name, text in files.items():
        addresses = set(re.findall(r"https?://[^\s\"'`)\\]+", text)) - {"http://www.w3.org/2000/svg"}
        assert not addresses, (name, addresses)
        assert not re.search(r"\son\w+=|style=|innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", text), name
    for page in ("index.html", "docs.html"):
        for source in re.findall(r'(?:src|href)="page/([^"]+)"', files[page]):
            assert source in files
        assert all("src=" in tag for tag in re.findall(r"<script[^>]*>", files[page]))
