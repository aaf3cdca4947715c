"""Limits of one connection, and of all of them."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.serve.serving import get, in_thread, until


@contextmanager
def connected(address: str, **options: int) -> Iterator[socket.socket]:
    host, _, port = address.removeprefix("http://").partition(":")
    with socket.socket() as client:
        if "buffer" in options:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, options["buffer"])
        client.settimeout(20)
        client.connect((host, int(port)))
        yield client


def is_closed(client: socket.socket) -> bool:
    """Whether the other side closes the connection without an answer."""
    try:
        return client.recv(1) == b""
    except ConnectionError:
        return True


def test_a_head_must_come_in_time(folder: Path) -> None:
    with in_thread(folder, head_seconds=0.5) as (address, _):
        for sent in (b"", b"GET / HTTP/1.1\r\nHost: a"):
            with connected(address) as client:
                start = time.monotonic()
                client.sendall(sent)
                assert is_closed(client)
                assert time.monotonic() - start < 5
        with connected(address) as client:  # a second request of a connection has a head, too
            client.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
            assert _answer(client).startswith(b"HTTP/1.1 200")
            client.sendall(b"GET /heal")
            assert is_closed(client)


def _answer(client: socket.socket) -> bytes:
    """A whole answer, which may come in several pieces."""
    got = b""
    while b"\r\n\r\n" not in got:
        got += client.recv(1000)
    head, _, body = got.partition(b"\r\n\r\n")
    (length,) = (int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    while len(body) < length:
        body += client.recv(1000)
    return head


def _send_without_end(client: socket.socket) -> None:
    client.sendall(b"GET / HTTP/1.1\r\n")
    for _ in range(10_000):
        client.sendall(b"A: " + b"x" * 60_000 + b"\r\n")
        time.sleep(0.001)


def test_a_head_may_not_be_large(folder: Path) -> None:
    with in_thread(folder) as (address, _), connected(address) as client, pytest.raises(ConnectionError):
        _send_without_end(client)
    with in_thread(folder) as (address, _), connected(address) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\nA: " + b"x" * 30_000 + b"\r\n\r\n")
        assert client.recv(1000).startswith(b"HTTP/1.1 200")


def test_there_may_be_so_many_connections(folder: Path) -> None:
    with in_thread(folder, max_connections=3) as (address, _):
        with connected(address), connected(address), connected(address), connected(address) as fourth:
            assert is_closed(fourth)
        until(lambda: get(address, "/healthz")[0] == 200)


def test_a_body_must_come_in_time(folder: Path) -> None:
    with in_thread(folder, body_seconds=0.3) as (address, _), connected(address) as client:
        client.sendall(b"POST /v1/predict HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n{")
        assert client.recv(1000).startswith(b"HTTP/1.1 408")


def test_a_client_that_reads_nothing_takes_no_place(folder: Path) -> None:
    body = json.dumps({"texts": ["a bike"] * 250, "k": 5}).encode()
    request = b"POST /v1/predict HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    with (
        in_thread(folder, max_requests=1, body_seconds=1) as (address, service),
        connected(address, buffer=1) as client,
    ):
        client.settimeout(1)
        with suppress(OSError):  # the service reads no further request while its answers wait
            for _ in range(40):
                client.sendall(request % len(body) + body)
        time.sleep(0.5)
        assert service.in_flight == 0
        assert get(address, "/v1/models")[0] == 200
