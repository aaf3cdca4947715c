"""Learning while serving: what is acknowledged is on disk, is known at once, and is known after a crash."""

from __future__ import annotations

import asyncio
import json
import random
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.serve.serving import LABELS, TEXTS, client_of, get, loaded, running, until
from zipfel import Zipfel
from zipfel.serve.core import Service
from zipfel.serve.update_log import UpdateLog, log_path

NEW = {"documents": [{"text": "green unicycle", "labels": ["unicycle"]}], "new_labels": True}


def best(client: TestClient, text: str) -> str:
    label: str = client.post("/v1/predict", json={"text": text, "k": 1}).json()["results"][0]["labels"][0]["id"]
    return label


def n_documents(client: TestClient) -> int:
    number: int = client.get("/v1/models").json()["models"][0]["n_documents"]
    return number


def test_a_document_is_known_at_once_and_on_disk_before_it_is_saved(client: TestClient, folder: Path) -> None:
    text = {"text": "a train on the water", "labels": ["boat"]}
    answer = client.post("/v1/update", json={"documents": [text] * 6})
    assert answer.json() == {
        "model": "things", "added": 6, "new_labels": 0, "n_documents": len(TEXTS) + 6, "version": 2,
    }  # fmt: skip
    assert best(client, "a train on the water") == "boat"
    assert Zipfel.load(folder).training_["n_points"] == len(TEXTS)
    assert b"a train on the water" in log_path(folder).read_bytes()


def test_new_labels_are_taken_in_where_that_is_asked_for(client: TestClient) -> None:
    refused = client.post("/v1/update", json={**NEW, "new_labels": False})
    assert refused.status_code == 422
    assert client.post("/v1/update", json=NEW).json()["new_labels"] == 1
    assert client.get("/v1/labels?query=uni").json()["labels"][0]["id"] == "unicycle"


def test_what_was_logged_but_not_saved_is_learned_by_the_next_process_once(folder: Path) -> None:
    first = loaded(folder)
    client_of(first).post("/v1/update", json=NEW)
    first._learners["things"]._log.close()  # type: ignore[union-attr] # as if the process had been killed
    for _ in range(2):  # the second time the log is still there: nothing was saved
        service = loaded(folder)
        assert n_documents(client_of(service)) == len(TEXTS) + 1
        service._learners["things"]._log.close()  # type: ignore[union-attr]
    service = loaded(folder)
    asyncio.run(service.save_all())
    assert log_path(folder).read_bytes() == b""
    assert Zipfel.load(folder).training_["n_points"] == len(TEXTS) + 1
    assert n_documents(client_of(loaded(folder))) == len(TEXTS) + 1


def test_a_log_that_outlives_the_saving_is_not_learned_twice(folder: Path) -> None:
    service = loaded(folder)
    client_of(service).post("/v1/update", json=NEW)
    kept = log_path(folder).read_bytes()
    asyncio.run(service.save_all())
    log_path(folder).write_bytes(kept)  # as if the process had been killed between the two
    assert n_documents(client_of(loaded(folder))) == len(TEXTS) + 1


def test_a_model_that_someone_else_saved_is_not_overwritten(folder: Path) -> None:
    service = loaded(folder)
    client = client_of(service)
    client.post("/v1/update", json=NEW)
    Zipfel(method="knn").fit(TEXTS[:10], LABELS[:10]).save(folder)
    assert service.changed_folders() == ["things"]
    asyncio.run(service.save_all())
    assert Zipfel.load(folder).training_["n_points"] == 11
    assert service.changed_folders() == []


def test_a_reload_keeps_what_was_learned(folder: Path) -> None:
    service = loaded(folder)
    client = client_of(service)
    client.post("/v1/update", json=NEW)
    assert asyncio.run(service.reload("things"))
    assert n_documents(client) == len(TEXTS) + 1


def test_a_folder_that_cannot_be_read_leaves_the_model_in_memory(folder: Path) -> None:
    service = loaded(folder)
    (folder / "config.json").write_text("{")
    assert not asyncio.run(service.reload("things"))
    assert best(client_of(service), "a red bike") == "bike"


def test_a_read_only_service_learns_nothing(folder: Path) -> None:
    client = client_of(loaded(folder, learning=False))
    assert client.post("/v1/update", json=NEW).status_code == 403
    assert client.post("/v1/feedback", json={"text": "a", "accepted": ["bike"]}).status_code == 403
    assert client.post("/v1/predict", json={"text": "a"}).status_code == 200
    assert not log_path(folder).exists()


def test_a_second_process_serves_but_does_not_learn(folder: Path) -> None:
    log = UpdateLog(log_path(folder))
    client = client_of(loaded(folder))
    assert client.post("/v1/update", json=NEW).status_code == 409
    assert best(client, "a red bike") == "bike"
    log.close()
    assert client.post("/v1/update", json=NEW).status_code == 200


def test_requests_that_wait_are_learned_together(service: Service) -> None:
    served = service.model()

    async def ask() -> None:
        await asyncio.gather(*(service.learn(served, [f"text {i}"], [["bike"]]) for i in range(5)))

    asyncio.run(ask())
    assert served.snapshot.model.training_["n_points"] == len(TEXTS) + 5
    assert served.snapshot.version <= 3
    assert served.snapshot.model.training_["updates"] == 5


def kill_while_learning(folder: Path, kills: int) -> None:
    """Starts, learns from several clients and kills, again and again; then counts what is known."""
    acknowledged: list[str] = []
    rng = random.Random(5)
    for turn in range(kills):
        with running(folder, "--quiet") as (address, process):

            def teach(who: int, address: str = address, turn: int = turn) -> None:
                for number in range(10_000):
                    name = f"label-{turn}-{who}-{number}"
                    body = {"documents": [{"text": f"word {name}", "labels": [name]}], "new_labels": True}
                    request = urllib.request.Request(
                        f"{address}/v1/update", json.dumps(body).encode(), {"Content-Type": "application/json"}
                    )
                    try:
                        urllib.request.urlopen(request, timeout=20).close()
                    except OSError:
                        return
                    acknowledged.append(name)

            threads = [threading.Thread(target=teach, args=(who,)) for who in range(3)]
            before = len(acknowledged)
            for thread in threads:
                thread.start()
            until(lambda before=before: len(acknowledged) > before)
            time.sleep(rng.uniform(0, 3))  # the model is saved after 2 s
            process.kill()
            for thread in threads:
                thread.join()
    with running(folder, "--quiet") as (address, _):
        card = json.loads(get(address, "/v1/models/things")[1])
    assert card["n_documents"] - len(TEXTS) >= len(acknowledged)
    log = UpdateLog(log_path(folder))
    known = set(Zipfel.load(folder).label_names_ or []) | {y for r in log.records for row in r.tags for y in row}
    log.close()
    assert set(acknowledged) <= known
    extra = card["n_documents"] - len(TEXTS) - len(acknowledged)
    assert extra <= 3 * kills  # those whose answer the kill cut off; none is learned twice


def test_kill_9_loses_nothing_that_was_acknowledged(folder: Path) -> None:
    kill_while_learning(folder, 1)


@pytest.mark.slow
def test_kill_9_thirty_times_loses_nothing_that_was_acknowledged(folder: Path) -> None:
    kill_while_learning(folder, 30)
