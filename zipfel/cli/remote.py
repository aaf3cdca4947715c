"""`zipfel predict --url`: documents go to a running service, in requests that it takes, and its answers come back."""

from __future__ import annotations

import http.client
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from zipfel.errors import ParameterError, ZipfelError, nearest

if TYPE_CHECKING:
    from zipfel.cli.answers import Labels, Told
    from zipfel.data import Dataset

TOKEN_VARIABLE = "ZIPFEL_TOKEN"
"""Environment variable with the token that the service asks for."""
MOST_TEXTS, MOST_CHARACTERS = 64, 400_000
"""Documents and characters of a request; its body stays below the service's 2 MB."""
_TRIES, _SECONDS = 8, 120.0


class ServiceError(ZipfelError):
    """A service that can't be reached, or that refuses a request."""


@dataclass(frozen=True)
class Asked:
    """What is asked of each document. limit: labels at most."""

    limit: int | None = None
    threshold: str | None = None
    optimise: str | None = None
    language: str | None = None

    def body(self, model: str) -> dict[str, Any]:
        body: dict[str, Any] = {"model": model, "language": self.language, "optimise": self.optimise}
        if self.threshold is not None:
            body["threshold"] = self.threshold if self.threshold.startswith("auto") else _share(self.threshold)
        body["k"] = self.limit or (100 if self.threshold is not None else 5)
        return {name: value for name, value in body.items() if value is not None}


def _share(words: str) -> float:
    try:
        return float(words)
    except ValueError:
        raise ParameterError(f"--threshold takes a probability, auto or auto:document, got {words!r}") from None


class Service:
    """A service at an address such as http://127.0.0.1:8000, and one of its models."""

    def __init__(self, address: str, model: str) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ParameterError(f"--url takes an address such as http://127.0.0.1:8000, got {address!r}")
        make = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connection = make(parts.hostname, parts.port, timeout=_SECONDS)
        self._prefix, self._address = parts.path.rstrip("/"), address
        token = os.environ.get(TOKEN_VARIABLE)
        self._headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        models = {found["name"]: found for found in self.call("GET", "/v1/models")["models"]}
        if model not in models:
            raise ServiceError(f"the service at {address} has no model {model!r}{nearest(model, models)}")
        self.model, self.takes_texts = model, models[model]["input"] == "text"

    def call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """The answer; where the service is full, it is asked again when it says so."""
        data = None if body is None else json.dumps(body).encode()
        for left in range(_TRIES, 0, -1):
            status, answer, pause = self._send(method, path, data)
            if status == 200:
                return answer
            if status not in (429, 503) or left == 1:
                break
            time.sleep(pause)
        told = answer.get("error", {}) if isinstance(answer, dict) else {}
        hint = f": set {TOKEN_VARIABLE}" if status == 401 else ""
        raise ServiceError(f"the service at {self._address} answered {status}: {told.get('message', '')}{hint}")

    def _send(self, method: str, path: str, data: bytes | None, *, again: bool = True) -> tuple[int, Any, float]:
        """(status, answer, seconds to wait). Opens a new connection if the service has closed the old one."""
        try:
            self._connection.request(method, self._prefix + path, data, self._headers)
            answer = self._connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            if again and isinstance(error, ConnectionError):
                return self._send(method, path, data, again=False)
            raise self._lost(error) from None
        return answer.status, _parsed(text), float(answer.getheader("retry-after") or 1)

    def _lost(self, error: Exception) -> ServiceError:
        return ServiceError(f"the service at {self._address} can't be reached ({error}): is `zipfel serve` running?")

    def answered(self, documents: Dataset, asked: Asked) -> Iterator[tuple[Labels, Told]]:
        """Of each document its labels, and what the vocabulary tells of them."""
        name, values = ("texts", documents.texts) if self.takes_texts else ("rows", _rows(documents))
        for part in _parts(values or []):
            body = {**asked.body(self.model), name: part}
            for result in self.call("POST", "/v1/predict", body)["results"]:
                yield _labels(result["labels"])


def _parsed(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _labels(found: Sequence[Mapping[str, Any]]) -> tuple[Labels, Told]:
    pairs = [(str(label["id"]), float(label["score"])) for label in found]
    ids, names = [str(label["id"]) for label in found], [str(label["name"]) for label in found]
    return pairs, ({} if ids == names else {"ids": ids, "names": names})


def _rows(documents: Dataset) -> list[dict[str, float]]:
    """Value by name of the feature, or by column where features have no names."""
    X, names = documents.X, documents.feature_names
    if X is None:
        return []
    return [
        {
            names[i] if names is not None else str(i): float(value)
            for i, value in zip(row.indices, row.data, strict=True)
        }
        for row in X
    ]


def _parts(values: Iterable[Any]) -> Iterator[list[Any]]:
    """Lists that each fit into a request."""
    part: list[Any] = []
    size = 0
    for value in values:
        length = len(value) if isinstance(value, str) else 30 * len(value)
        if part and (len(part) == MOST_TEXTS or size + length > MOST_CHARACTERS):
            yield part
            part, size = [], 0
        part.append(value)
        size += length
    if part:
        yield part
