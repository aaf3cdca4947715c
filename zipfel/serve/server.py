"""uvicorn with a graceful stop, and reloads on SIGHUP and when a model folder changes."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any

import uvicorn

from zipfel.serve.app import make_app
from zipfel.serve.connection import limited
from zipfel.serve.core import Service
from zipfel.serve.learning import stamp_of
from zipfel.serve.listening import closed, held
from zipfel.serve.logs import log

SWITCH_SECONDS = 0.0002
"""Python's threads take turns this often. With its 5 ms, each answer that is sent waits for the model's thread."""


class Server(uvicorn.Server):
    """Answers everything that it accepted before it ends.

    On SIGTERM or Ctrl-C each answer asks its client to close the connection. For `drain_seconds` the server still
    answers new connections. Then it refuses new connections and gives open ones as long again. The process ends when
    the last answer is sent.
    """

    def __init__(
        self, service: Service, *, watch: bool = False, when_ready: Callable[[str], None] | None = None
    ) -> None:
        settings = service.settings
        config = uvicorn.Config(
            make_app(service),
            http=limited(settings),
            host=settings.host,
            port=settings.port,
            log_config=None,
            log_level="critical",
            access_log=False,
            server_header=False,
            lifespan="off",
            ws="none",
            timeout_keep_alive=30,
            timeout_graceful_shutdown=int(settings.stop_seconds),
            backlog=2048,
            proxy_headers=False,
        )
        super().__init__(config)
        self.service, self._watch, self._when_ready = service, watch, when_ready
        self._tasks: set[asyncio.Task[Any]] = set()

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        loop = asyncio.get_running_loop()
        if hasattr(signal, "SIGHUP"):
            with contextlib.suppress(RuntimeError, ValueError):  # not in the main thread: no signals
                loop.add_signal_handler(signal.SIGHUP, lambda: self._start(self._reload_all()))
        self._start(self._load())

    def _start(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _load(self) -> None:
        await self.service.load()
        if self.service.failure is not None:
            self.should_exit = True
            return
        host, port = self.servers[0].sockets[0].getsockname()[:2]
        address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        settle()
        log("ready", address=address)
        if self._when_ready is not None:
            self._when_ready(address)
        if self._watch:
            self._start(self._watch_folders())

    async def _reload_all(self) -> None:
        for name in list(self.service.models):
            await self._reload(name)

    async def _reload(self, name: str) -> bool:
        done = await self.service.reload(name)
        settle()
        return done

    async def _watch_folders(self) -> None:
        """Reloads a model when its folder holds another one."""
        failed: dict[str, object] = {}
        while True:
            await asyncio.sleep(self.service.settings.watch_seconds)
            for name in self.service.changed_folders():
                stamp = stamp_of(self.service.models[name])
                if failed.get(name) != stamp and not await self._reload(name):
                    failed[name] = stamp  # a folder that can't be used is not read again and again

    async def shutdown(self, sockets: Any = None) -> None:
        self.service.draining = True
        log("stopping", in_flight=self.service.in_flight)
        for task in list(self._tasks):
            task.cancel()
        await self._drain()
        await self._stop_listening()
        await self._drain()
        await super().shutdown(sockets)
        await self.service.save_all()
        self.service.close()
        log("stopped")

    async def _drain(self) -> None:
        """Serves open connections until they are closed, at most `drain_seconds`."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self.service.settings.drain_seconds
        while self.server_state.connections and loop.time() < end and not self.force_exit:
            await asyncio.sleep(0.02)

    async def _stop_listening(self) -> None:
        """Closes the listening sockets; clients that stand in their queues are served."""
        queues = held(listening for server in self.servers for listening in server.sockets)
        for server in self.servers:
            server.close()
        clients = [client for queue in queues for client in closed(queue)]
        loop = asyncio.get_running_loop()
        for client in clients:
            await loop.connect_accepted_socket(self._protocol, client)

    def _protocol(self) -> asyncio.Protocol:
        make: Any = self.config.http_protocol_class
        found: asyncio.Protocol = make(
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return found

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As uvicorn's, but the process ends with 0 afterwards, for it stopped as it was asked to."""
        with super().capture_signals():
            yield
            self._captured_signals.clear()


def settle() -> None:
    """Leaves what is in memory for good out of garbage collection, which would stop all requests for up to 0.1 s."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def run(service: Service, *, watch: bool = False, when_ready: Callable[[str], None] | None = None) -> None:
    """Serves until a signal comes; raises what kept a model from being loaded."""
    service.settings.check()
    sys.setswitchinterval(SWITCH_SECONDS)
    Server(service, watch=watch, when_ready=when_ready).run()
    if service.failure is not None:
        raise service.failure
