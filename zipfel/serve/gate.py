"""What holds for every request, before any protocol: token, limits, request id, security headers, metrics, log line."""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
import uuid
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.datastructures import Headers

from zipfel.serve.core import Service
from zipfel.serve.errors import RequestError, error_body
from zipfel.serve.logs import log

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

HEALTH_PATHS = ("/healthz", "/readyz", "/health")
OPEN_PATHS = (*HEALTH_PATHS, "/docs", "/openapi.json", "/favicon.ico")
"""Answered without a token, as are the files of the page."""
RETRY_SECONDS = 1
_DRAINED = 8
"""A body over the limit is read up to this many times the limit, so that the client receives the refusal."""
_REQUEST_ID = re.compile(r"[\w.:-]{1,64}", re.ASCII)

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS = {
    "content-security-policy": CSP,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
}
_RAW_HEADERS = [(name.encode(), value.encode()) for name, value in SECURITY_HEADERS.items()]


class Gate:
    """Wraps the application. A request passes these checks in turn: ready, token, body, number of requests."""

    def __init__(self, app: App, service: Service) -> None:
        self.app, self.service = app, service
        self._buffered = 0  # bytes of bodies that are not complete
        self._unsent = [0]  # bytes of answers that their clients have not read
        self._room = service.settings.max_requests * service.settings.max_body

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start = time.monotonic()
        headers = Headers(scope=scope)
        answer = _Answer(send, _request_id(headers), self.service, self._unsent)
        scope["state"] = {**scope.get("state", {}), "request_id": answer.request_id}
        try:
            await self._pass(scope, headers, receive, answer)
        except RequestError as error:
            await answer.refuse(scope["path"], error)
        except _DisconnectedError:
            answer.status = 499  # the client went away
        except Exception as error:  # noqa: BLE001 - whatever it is, the next request is answered
            self.service.metrics.errors.add()
            log("fault", level="error", request_id=answer.request_id, error=_kind(error))
            await answer.refuse(
                scope["path"], RequestError(500, "the service failed: see its log under the request id")
            )
        finally:
            self._tell(scope, answer, time.monotonic() - start)

    async def _pass(self, scope: Message, headers: Headers, receive: Receive, answer: _Answer) -> None:
        path, service = scope["path"], self.service
        if path in HEALTH_PATHS:
            await self.app(scope, receive, answer.send)
            return
        is_open = _is_open(path, scope["method"])
        if not is_open and not service.tokens.allow(headers.get("authorization")):
            raise RequestError(401, "a token is needed: send the header `Authorization: Bearer TOKEN`")
        if not service.models and not is_open and path != "/metrics":
            raise RequestError(503, "the models are being loaded", retry_after=RETRY_SECONDS)
        body = await self._body(receive)
        if is_open or path == "/metrics":
            await self.app(scope, _replay(body, receive), answer.send)
            return
        if service.in_flight >= service.settings.max_requests or answer.unsent > self._room:
            del body
            await asyncio.sleep(service.settings.refusal_seconds)
            raise _full()
        answer.take_place()
        try:
            await self.app(scope, _replay(body, receive), answer.send)
        finally:
            answer.leave_place()

    async def _body(self, receive: Receive) -> bytes:
        """The whole body. Only then does a request count, so that slow clients take no place from others."""
        seconds = self.service.settings.body_seconds
        try:
            return await asyncio.wait_for(self._read(receive), seconds)
        except asyncio.TimeoutError:
            raise RequestError(408, f"the body did not arrive within {seconds:g} seconds") from None

    async def _read(self, receive: Receive) -> bytes:
        settings, parts, size = self.service.settings, [], 0
        limit = settings.max_body
        try:
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise _DisconnectedError
                part = message.get("body", b"")
                size += len(part)
                if size <= limit:
                    parts.append(part)
                    self._buffered += len(part)
                elif size > _DRAINED * limit:
                    break
                if self._buffered > self._room:
                    raise _full()
                if not message.get("more_body", False):
                    break
        finally:
            self._buffered -= sum(map(len, parts))
        if size > limit:
            raise RequestError(413, f"the body may have {limit:,} bytes: send several smaller requests")
        return b"".join(parts)

    def _tell(self, scope: Message, answer: _Answer, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "other")
        self.service.metrics.requests.add(route, str(answer.status))
        self.service.metrics.request_seconds.observe(seconds)
        if log.requests and scope["path"] not in HEALTH_PATHS:
            log(
                "request",
                request_id=answer.request_id,
                method=scope["method"],
                route=route,
                status=answer.status,
                ms=round(1000 * seconds, 2),
                client=(scope.get("client") or ("",))[0],
            )


def _is_open(path: str, method: str) -> bool:
    """Answered without a token: the page, its files, and what describes the API."""
    return path in OPEN_PATHS or path.startswith("/page/") or (path == "/" and method in ("GET", "HEAD"))


def _full() -> RequestError:
    return RequestError(429, "too many requests at the same time: try again", retry_after=RETRY_SECONDS)


class _DisconnectedError(Exception):
    """The client closed the connection before its body, or its answer, was complete."""


class _Answer:
    """Adds our headers to the answer and remembers its status.

    A request has a place until its answer begins, so that clients who read slowly take none from others.
    """

    def __init__(self, send: Send, request_id: str, service: Service, unsent: list[int]) -> None:
        self._send, self.request_id, self._service, self._unsent = send, request_id, service, unsent
        self.status, self._begun, self._has_place = 0, False, False

    @property
    def unsent(self) -> int:
        """Bytes of all answers that are on their way."""
        return self._unsent[0]

    def take_place(self) -> None:
        self._service.in_flight += 1
        self._has_place = True

    def leave_place(self) -> None:
        self._service.in_flight -= self._has_place
        self._has_place = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status, self._begun = message["status"], True
            headers = message.setdefault("headers", [])
            own = {name for name, _ in headers}
            headers = [*headers, *(pair for pair in _RAW_HEADERS if pair[0] not in own)]
            headers.append((b"x-request-id", self.request_id.encode()))
            if self._service.draining:
                headers.append((b"connection", b"close"))
            message = {**message, "headers": headers}
            self.leave_place()
        size = len(message.get("body", b""))
        self._unsent[0] += size
        try:
            await self._send(message)
        except (RuntimeError, OSError) as error:  # the connection is closed
            raise _DisconnectedError from error
        finally:
            self._unsent[0] -= size

    async def refuse(self, path: str, error: RequestError) -> None:
        if self._begun:
            return
        body, kind = error_body(path, error, self.request_id)
        headers = [(b"content-type", kind.encode()), (b"content-length", str(len(body)).encode())]
        headers += [(name.encode(), value.encode()) for name, value in error.headers.items()]
        with contextlib.suppress(_DisconnectedError):
            await self.send({"type": "http.response.start", "status": error.status, "headers": headers})
            await self.send({"type": "http.response.body", "body": body})


def _request_id(headers: Headers) -> str:
    given = headers.get("x-request-id", "")
    return given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex


def _replay(body: bytes, receive: Receive) -> Receive:
    """The body once more, then what comes after it: the client's disconnect."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def _kind(error: BaseException) -> str:
    """Where an error was raised and its type; its message could hold a document's text."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    place = f"{frame.tb_frame.f_code.co_filename}:{frame.tb_lineno}" if frame is not None else ""
    return f"{type(error).__name__} at {place}"
