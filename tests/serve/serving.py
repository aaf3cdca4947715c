"""A small model, and services of it without a socket and with one."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from starlette.testclient import TestClient

from zipfel.serve.app import make_app
from zipfel.serve.core import Service
from zipfel.serve.settings import Settings, Tokens

THINGS = ("red bike", "blue boat", "fast car", "old train")
PLACES = ("for the road", "on the water", "in the city", "at the station", "with wheels")
TEXTS = [f"{thing} {place}" for thing in THINGS for place in PLACES]
LABELS = [[thing.split()[1], "vehicle::any"] for thing in THINGS for _ in PLACES]


def loaded(folder: Path, tokens: Tokens | None = None, **settings: object) -> Service:
    """A service with its model loaded."""
    service = Service({folder.name: folder}, Settings(**settings), tokens or Tokens([]))  # type: ignore[arg-type]
    asyncio.run(service.load())
    assert service.failure is None, service.failure
    return service


def client_of(service: Service) -> TestClient:
    return TestClient(make_app(service), raise_server_exceptions=False)


@contextmanager
def running(
    *words: str | Path, env: dict[str, str] | None = None, port: int | str = 0
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """(address, process) of `zipfel serve` with these words, once it is ready; it is killed at the end."""
    command = [sys.executable, "-m", "zipfel", "serve", *map(str, words), "--port", str(port)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})})
    assert process.stderr is not None
    try:
        lines = []
        for line in process.stderr:
            lines.append(line)
            if line.startswith("serving on "):
                break
        else:
            raise AssertionError("".join(lines))
        threading.Thread(target=process.stderr.read, daemon=True).start()  # the log must not fill its pipe
        yield line.split()[-1], process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


@contextmanager
def in_thread(folder: Path, **settings: object) -> Iterator[tuple[str, Service]]:
    """(address, service) of a server in a thread of this process."""
    from zipfel.serve.server import Server

    service = Service({folder.name: folder}, Settings(port=0, **settings), Tokens([]))  # type: ignore[arg-type]
    found: list[str] = []
    server = Server(service, when_ready=found.append)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        until(lambda: found or service.failure, 60)
        yield found[0], service
    finally:
        server.should_exit = True
        thread.join(30)
        gc.unfreeze()


def get(address: str, path: str) -> tuple[int, str]:
    with urllib.request.urlopen(address + path, timeout=20) as answer:
        return answer.status, answer.read().decode()


def until(condition: object, seconds: float = 20) -> None:
    """Waits until the condition, a function, holds."""
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)
