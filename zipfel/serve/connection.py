"""One connection with limits that uvicorn does not have: how long and how large a request's head may be, how long a
client may leave an answer unread, and how many connections there may be."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from zipfel.serve.settings import Settings

MAX_HEAD = 64 << 10
"""Bytes of the request line and the headers."""


def _give_up_on_slow_readers(transport: Any, seconds: float) -> None:
    """Linux closes the connection when the client has not taken any of the answer for so long."""
    connection = transport.get_extra_info("socket")
    if connection is not None and hasattr(socket, "TCP_USER_TIMEOUT"):
        with contextlib.suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(1000 * seconds))


def limited(settings: Settings) -> type[asyncio.Protocol]:
    """The protocol class that uvicorn makes one of for each connection."""

    class Connection(HttpToolsProtocol):
        """Closes the connection of a client that does not send a whole head in time."""

        _timer: asyncio.TimerHandle | None = None
        _n_bytes = 0

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            _give_up_on_slow_readers(transport, settings.body_seconds)
            if len(self.connections) > settings.max_connections:
                transport.close()
            else:
                self._wait_for_head()

        def _wait_for_head(self) -> None:
            if self._timer is None:
                self._timer = self.loop.call_later(settings.head_seconds, self.transport.close)

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self._wait_for_head()

        def on_headers_complete(self) -> None:
            self._head_ended()
            super().on_headers_complete()

        def _head_ended(self) -> None:
            self._n_bytes = 0
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self._timer is not None:
                self._n_bytes += len(data)
                if self._n_bytes > MAX_HEAD:
                    self.transport.close()

        def connection_lost(self, exc: Exception | None) -> None:
            self._head_ended()
            super().connection_lost(exc)

    return Connection
