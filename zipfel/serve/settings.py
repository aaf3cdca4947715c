"""What an operator sets: where to listen, limits, tokens, defaults."""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from zipfel.errors import ParameterError

TOKENS_VARIABLE = "ZIPFEL_TOKENS"
"""Environment variable with tokens, separated by commas or white space."""

LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Settings:
    """Limits and defaults of one service.

    max_answered: labels of all documents of a request together.
    max_requests: requests that are worked on or wait at the same time; the next one gets 429.
    batch_texts: documents that the model is given at once.
    refusal_seconds: delay before a 429 is sent. Clients that retry at once then leave the processor to accepted
    requests.
    head_seconds, body_seconds: time that a client has to send the headers and the body of a request; the latter is
    also how long it may leave an answer unread.
    drain_seconds: time after SIGTERM in which open connections are still served.
    save_seconds: after a document was learned until the model is saved. learn_texts: documents that are learned at
    once. origins: those that CORS lets in. encoder: import path of what makes embeddings, for models that read them.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    k: int = 5
    max_k: int = 1000
    max_explained: int = 100
    max_answered: int = 50_000
    max_body: int = 2 << 20
    max_texts: int = 256
    max_text_length: int = 500_000
    max_requests: int = 64
    max_connections: int = 800
    batch_texts: int = 64
    refusal_seconds: float = 0.1
    head_seconds: float = 15.0
    body_seconds: float = 30.0
    drain_seconds: float = 1.0
    stop_seconds: float = 30.0
    watch_seconds: float = 2.0
    save_seconds: float = 2.0
    learn_texts: int = 1000
    learning: bool = True
    encoder: str | None = None
    origins: tuple[str, ...] = ()

    def check(self) -> None:
        for name in (
            "k",
            "max_k",
            "max_body",
            "max_texts",
            "max_text_length",
            "max_requests",
            "max_connections",
            "batch_texts",
        ):
            value = getattr(self, name)
            if value < 1:
                raise ParameterError(f"{name} must be at least 1, got {value!r}")
        if not 0 <= self.port <= 65535:
            raise ParameterError(f"port must lie between 0 and 65535, got {self.port}")


class Tokens:
    """Accepted bearer tokens. Without any token everybody is let in.

    >>> tokens = Tokens(["one", "two"])
    >>> tokens.allow("Bearer two"), tokens.allow("Bearer three"), tokens.allow(None), Tokens([]).allow(None)
    (True, False, False, True)
    """

    def __init__(self, tokens: Iterable[str]) -> None:
        self._digests = [_digest(token) for token in tokens]

    def __len__(self) -> int:
        return len(self._digests)

    def allow(self, authorization: str | None) -> bool:
        """Compares with every token, and takes the same time wherever they differ."""
        if not self._digests:
            return True
        scheme, _, token = (authorization or "").partition(" ")
        given = _digest(token.strip())
        found = [hmac.compare_digest(given, digest) for digest in self._digests]
        return any(found) and scheme.lower() == "bearer"


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def read_tokens(file: Path | None, environment: Mapping[str, str] = os.environ) -> Tokens:
    """Tokens of the file, one a line, and of the environment. Lines that begin with # are left out."""
    found = environment.get(TOKENS_VARIABLE, "").replace(",", " ").split()
    if file is not None:
        lines = [line.strip() for line in file.read_text(encoding="utf-8").splitlines()]
        listed = [line for line in lines if line and not line.startswith("#")]
        if not listed:
            raise ParameterError(f"{file} holds no token: write one a line, e.g. the output of `openssl rand -hex 32`")
        found += listed
    return Tokens(found)
