"""Clients as their packages are published: annif-client and huggingface_hub."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.serve.serving import running
from zipfel import Zipfel

TEXT = "a red bike"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory, model: Zipfel) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("clients") / "things"
    model.save(folder)
    with running(folder, "--quiet") as (found, _):
        yield found


@pytest.fixture(scope="module")
def annif(address: str) -> Any:
    package = pytest.importorskip("annif_client", reason="needs annif-client (extra dev)")
    return package.AnnifClient(f"{address}/v1/")


def test_annif_client_reads_what_there_is(annif: Any) -> None:
    assert set(annif.api_info) == {"title", "version"}
    (project,) = annif.projects
    assert annif.get_project("things")["project_id"] == project["project_id"] == "things"
    with pytest.raises(ValueError, match="nothing"):
        annif.get_project("nothing")
    if hasattr(annif, "vocabs"):
        assert annif.vocabs[0]["vocab_id"] == "things"


def test_annif_client_suggests(annif: Any) -> None:
    found = annif.suggest("things", TEXT, limit=2, threshold=0.01)
    assert [row["label"] for row in found] == ["bike", "vehicle::any"]
    assert all(row["uri"] == row["label"] and 0 <= row["score"] <= 1 for row in found)
    documents = [{"text": TEXT, "document_id": "x"}, {"text": "a blue boat"}]
    batch = annif.suggest_batch("things", documents, limit=1)
    assert [(row["document_id"], row["results"][0]["label"]) for row in batch] == [("x", "bike"), (None, "boat")]


def test_annif_client_learns(annif: Any) -> None:
    documents = [{"text": "a green unicycle", "subjects": [{"uri": "bike", "label": "bike"}]}]
    assert annif.learn("things", documents).status_code == 204


def test_annif_client_is_told_that_languages_are_not_detected(annif: Any) -> None:
    if not hasattr(annif, "detect_language"):
        pytest.skip("this version of annif-client does not ask")
    with pytest.raises(ValueError, match="does not detect"):
        annif.detect_language(TEXT, ["en", "de"])


@pytest.mark.parametrize("path", ["/predict", "/"])
def test_huggingface_hub_classifies(address: str, path: str) -> None:
    hub = pytest.importorskip("huggingface_hub", reason="needs huggingface_hub (extra dev)")
    client = hub.InferenceClient(model=address + path)
    labels = client.text_classification(TEXT, top_k=2)
    assert [label.label for label in labels] == ["bike", "vehicle::any"]
    assert client.text_classification(TEXT)[0].label == "bike"
