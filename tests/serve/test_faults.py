"""Attacks and accidents on a running service: malformed requests, slow or too many clients, SIGTERM under load."""

from __future__ import annotations

import http.client
import json
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")

from tests.serve.serving import get, running
from zipfel import Zipfel

JSON = {"Content-Type": "application/json"}
PATHS = ("/v1/predict", "/v1/explain", "/v1/update", "/v1/feedback", "/predict", "/", "/setup", "/v1/detect-language",
         "/v1/projects/things/suggest", "/v1/projects/things/suggest-batch", "/v1/projects/things/learn")  # fmt: skip
BODIES = (
    {"text": "a red bike", "k": 3, "threshold": 0.1, "language": "en"},
    {"texts": ["a", "b"], "model": "things"},
    {"documents": [{"text": "a bike", "labels": ["bike"]}], "new_labels": True},
    {"text": "a bike", "accepted": ["bike"], "rejected": ["boat"]},
    {"inputs": [["a"], ["b"]], "parameters": {"top_k": 2}},
    {"tasks": [{"id": 1, "data": {"text": "a bike"}}], "label_config": "<View><Choices name='a' toName='b'/></View>"},
    [{"text": "a bike", "subjects": [{"uri": "bike"}]}],
)
ODD = (None, -1, 0, 10**30, 1e308, True, "", "\u0000", "\U0001f600", [], {}, [[]], {"a": {"b": []}}, "x" * 3000)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, model: Zipfel) -> Path:
    folder = tmp_path_factory.mktemp("faults") / "things"
    model.save(folder)
    return folder


@pytest.fixture(scope="module")
def address(place: Path) -> Iterator[str]:
    with running(place, "--quiet") as (found, process):
        yield found
        assert process.poll() is None, "the service ended"


def post(address: str, path: str, body: bytes, headers: dict[str, str] = JSON) -> int:
    request = urllib.request.Request(address + path, body, headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            answer.read()
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def predicts(address: str) -> bool:
    return post(address, "/v1/predict", b'{"text": "a red bike"}') == 200


def spoiled(value: object, rng: random.Random) -> object:
    """The value with one of its parts replaced, removed, or doubled."""
    if isinstance(value, dict) and value and rng.random() < 0.8:
        key = rng.choice(list(value))
        if rng.random() < 0.2:
            return {name: part for name, part in value.items() if name != key}
        return {**value, key: spoiled(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.8:
        i = rng.randrange(len(value))
        return [*value[:i], spoiled(value[i], rng), *value[i:]]
    return rng.choice(ODD)


def fuzz(address: str, n_requests: int, seed: int) -> dict[int, int]:
    """How often each status came: bodies with one part spoiled, bodies with bytes changed, any path."""
    rng, found = random.Random(seed), dict[int, int]()
    connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=30)
    for _ in range(n_requests):
        body = json.dumps(spoiled(rng.choice(BODIES), rng)).encode()
        if rng.random() < 0.3:
            data = bytearray(body)
            for _ in range(rng.randrange(1, 4)):
                data[rng.randrange(len(data))] = rng.randrange(256)
            body = bytes(data)
        kind = rng.choice(
            ["application/json", "application/json", "application/x-www-form-urlencoded", "text/plain", ""]
        )
        connection.request("POST", rng.choice(PATHS), body, {"Content-Type": kind})
        answer = connection.getresponse()
        answer.read()
        found[answer.status] = found.get(answer.status, 0) + 1
    connection.close()
    return found


def test_malformed_requests_are_no_faults(address: str) -> None:
    found = fuzz(address, 400, seed=1)
    assert all(status < 500 for status in found), found
    assert predicts(address)


@pytest.mark.slow
def test_ten_thousand_malformed_requests_are_no_faults(address: str) -> None:
    found = fuzz(address, 10_000, seed=2)
    assert all(status < 500 for status in found), found
    assert predicts(address)


@pytest.mark.slow
def test_schemathesis_finds_no_fault(place: Path, tmp_path: Path) -> None:
    pytest.importorskip("schemathesis", reason="needs schemathesis (extra dev)")
    command = shutil.which("schemathesis", path=Path(sys.executable).parent) or "schemathesis"
    with running(place, "--quiet") as (address, _):
        words = ["run", f"{address}/openapi.json", "--checks", "not_a_server_error", "--mode", "all"]
        words += ["--max-examples", "500", "--phases", "fuzzing", "--seed", "7", "--generation-database", "none"]
        done = subprocess.run([command, *words], cwd=tmp_path, capture_output=True, text=True, timeout=1200)
        assert done.returncode == 0, done.stdout[-3000:]
        assert predicts(address)
        assert "zipfel_errors_total 0" in get(address, "/metrics")[1]


def test_what_is_no_http_is_refused(address: str) -> None:
    host, _, port = address.removeprefix("http://").partition(":")
    lines = (b"\x16\x03\x01\x02\x00\x01\x00", b"GET\r\n\r\n", b"POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
             b"GET / HTTP/1.1\r\nA: " + b"x" * 200_000, b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
             b"GET http://[::1 HTTP/1.1\r\n\r\n", b"GET /%ff%00 HTTP/1.1\r\nHost: a\r\n\r\n")  # fmt: skip
    for line in lines:
        with socket.create_connection((host, int(port)), timeout=20) as client:
            try:
                client.sendall(line)
                answer = client.recv(1000)
            except OSError:
                answer = b""
        assert not answer or answer.split()[1][:1] in (b"4", b"2"), (line[:30], answer)
    assert predicts(address)


def trickle(address: str, stop: threading.Event) -> None:
    """A client that sends a byte a second and never ends."""
    host, _, port = address.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=20) as client:
        for byte in b"POST /v1/predict HTTP/1.1\r\nContent-Length: 100000\r\n\r\n" + b" " * 1000:
            if stop.wait(1):
                return
            try:
                client.send(bytes([byte]))
            except OSError:
                return


def test_slow_clients_do_not_stop_the_others(address: str) -> None:
    stop = threading.Event()
    slow = [threading.Thread(target=trickle, args=(address, stop)) for _ in range(100)]
    for thread in slow:
        thread.start()
    try:
        time.sleep(2)
        times = []
        for _ in range(100):
            start = time.perf_counter()
            assert predicts(address)
            times.append(time.perf_counter() - start)
        assert sorted(times)[98] < 2
    finally:
        stop.set()
        for thread in slow:
            thread.join()


class Asking(threading.Thread):
    """Asks until the service is gone. unanswered: what became of requests without an answer."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self.host = address.removeprefix("http://")
        self.answered = self.refused = 0
        self.unanswered: list[str] = []

    def run(self) -> None:
        while True:
            connection = http.client.HTTPConnection(self.host, timeout=30)
            try:
                connection.connect()
            except OSError:
                return  # nobody listens any more
            try:
                while self._ask(connection):
                    pass
            except (OSError, http.client.HTTPException) as error:
                self.unanswered.append(repr(error))
                return
            finally:
                connection.close()

    def _ask(self, connection: http.client.HTTPConnection) -> bool:
        """Whether the connection stays open."""
        connection.request("POST", "/v1/predict", b'{"text": "a red bike"}', JSON)
        answer = connection.getresponse()
        answer.read()
        self.answered += answer.status == 200
        self.refused += answer.status == 429
        return answer.getheader("connection") != "close"


def stop_under_load(place: Path, n_clients: int) -> None:
    with running(place, "--quiet") as (address, process):
        clients = [Asking(address) for _ in range(n_clients)]
        for client in clients:
            client.start()
        time.sleep(1)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0
        for client in clients:
            client.join(timeout=30)
    assert sum(client.answered for client in clients) > 50
    assert [error for client in clients for error in client.unanswered] == []


def test_sigterm_under_load_answers_what_was_accepted(place: Path) -> None:
    stop_under_load(place, 20)


@pytest.mark.slow
def test_sigterm_under_load_ten_times(place: Path) -> None:
    for _ in range(10):
        stop_under_load(place, 40)


def test_reloads_under_load_drop_nothing(place: Path, model: Zipfel, tmp_path: Path) -> None:
    model.save(tmp_path / "things")
    with running(tmp_path / "things", "--quiet", "--watch") as (address, process):
        clients = [Asking(address) for _ in range(8)]
        for client in clients:
            client.start()
        for _ in range(5):
            model.save(tmp_path / "things")
            process.send_signal(signal.SIGHUP)
            time.sleep(0.3)
        done = 'zipfel_reloads_total{model="things",outcome="done"}'
        assert done in get(address, "/metrics")[1]
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0
        for client in clients:
            client.join(timeout=30)
    assert [error for client in clients for error in client.unanswered] == []
    assert sum(client.answered for client in clients) > 50


def test_too_many_clients_get_429_and_the_others_answers(place: Path) -> None:
    with running(place, "--quiet", "--max-requests", "4") as (address, process):
        clients = [Asking(address) for _ in range(40)]
        for client in clients:
            client.start()
        time.sleep(2)
        process.send_signal(signal.SIGTERM)
        for client in clients:
            client.join(timeout=30)
    assert sum(client.answered for client in clients) > 50
    assert sum(client.refused for client in clients) > 10
    assert [error for client in clients for error in client.unanswered] == []
