"""Errors with an HTTP status, in the shape that the asked protocol expects. No document's text is repeated in one."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import orjson

ANNIF_PATHS = ("/v1/projects", "/v1/vocabs", "/v1/detect-language")
HUGGING_FACE_PATHS = ("/", "/predict")

_TYPES = {400: "Validation", 413: "Validation", 422: "Validation", 429: "Overloaded", 503: "Unhealthy", 500: "Backend"}
"""Status -> `error_type` of text-embeddings-inference."""


class RequestError(Exception):
    """A request that is not answered: an HTTP status, a sentence for the client, and seconds until a further try."""

    def __init__(self, status: int, message: str, *, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.retry_after = status, message, retry_after

    @property
    def headers(self) -> dict[str, str]:
        headers = {} if self.retry_after is None else {"retry-after": str(self.retry_after)}
        return headers | ({"www-authenticate": "Bearer"} if self.status == 401 else {})


def error_body(path: str, error: RequestError, request_id: str) -> tuple[bytes, str]:
    """(body, media type) as clients of this path read errors: Annif's, Hugging Face's, or our own."""
    status, message = error.status, error.message
    body: Mapping[str, Any]
    if path.startswith(ANNIF_PATHS):
        title = HTTPStatus(status).phrase
        body = {"type": "about:blank", "title": title, "status": status, "detail": message}
        return orjson.dumps(body), "application/problem+json"
    if path in HUGGING_FACE_PATHS:
        body = {"error": message, "error_type": _TYPES.get(status, "Validation")}
    else:
        body = {"error": {"status": status, "message": message, "request_id": request_id}}
    return orjson.dumps(body), "application/json"
