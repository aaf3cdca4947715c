"""Closes a listening socket without losing a client: new connections are refused, and queued ones are accepted
first."""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import struct
import sys
from collections.abc import Iterable

_ATTACH_FILTER = 26
_DROP_ALL = struct.pack("HBBI", 0x06, 0, 0, 0)
"""Linux's SO_ATTACH_FILTER, and a program of one instruction for it: return 0 bytes of every packet."""


def held(listening: Iterable[socket.socket]) -> list[socket.socket]:
    """The same queues under file numbers of their own; closing `listening` leaves them open."""
    if sys.platform == "win32":
        return []
    return [socket.socket(fileno=os.dup(each.fileno())) for each in listening]


def closed(queue: socket.socket) -> list[socket.socket]:
    """Closes the queue and returns the clients that stood in it.

    A client whose first packet is dropped asks again after a second, and is refused then, or served by another process.
    """
    found = []
    with queue:
        if sys.platform == "linux":
            code = ctypes.create_string_buffer(_DROP_ALL)
            with contextlib.suppress(OSError):
                queue.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, struct.pack("HL", 1, ctypes.addressof(code)))
        queue.setblocking(False)
        with contextlib.suppress(OSError):
            while True:
                found.append(queue.accept()[0])
    for client in found:
        client.setblocking(False)
    return found
