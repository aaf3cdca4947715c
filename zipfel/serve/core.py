"""The one core that all protocols share: models by name; predict, explain, find labels, reload."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from zipfel.classifier import Zipfel
from zipfel.data.documents import check_unicode
from zipfel.errors import ZipfelError, nearest
from zipfel.serve.batching import Batcher, BatchFacts
from zipfel.serve.errors import RequestError
from zipfel.serve.learning import learned
from zipfel.serve.logs import log
from zipfel.serve.metrics import Gauge, Metrics
from zipfel.serve.served import Answered, Document, ServedModel, Snapshot, WhyAnswered
from zipfel.serve.settings import Settings, Tokens

T = TypeVar("T")


@dataclass
class Service:
    """Models by name, the first of which answers where a request names none.

    folders: model folder by name. ready: set once all models are loaded. draining: set when the process is to stop.
    """

    folders: Mapping[str, Path]
    settings: Settings = field(default_factory=Settings)
    tokens: Tokens = field(default_factory=lambda: Tokens([]))
    train: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.models: dict[str, ServedModel] = {}
        self.metrics = Metrics()
        self.draining = False
        self.in_flight = 0
        self.failure: BaseException | None = None
        self._batchers: dict[str, Batcher[Document, Answered]] = {}
        self._background = ThreadPoolExecutor(1, "zipfel-background")
        self.metrics.gauges += [
            Gauge("zipfel_in_flight", "Requests that are worked on or wait.", lambda: {"": self.in_flight}),
            Gauge("zipfel_queue_length", "Requests that wait for a batch.", self._queue_lengths, "model"),
            Gauge("zipfel_ready", "Whether all models are loaded.", lambda: {"": float(self.ready)}),
        ]

    @property
    def ready(self) -> bool:
        return len(self.models) == len(self.folders) and not self.draining

    def _queue_lengths(self) -> dict[str, float]:
        return {name: float(len(batcher)) for name, batcher in self._batchers.items()}

    # -- models ------------------------------------------------------------------------------------------------------

    async def load(self) -> None:
        """Loads all models; an error is kept in `failure`."""
        try:
            for name, folder in self.folders.items():
                self.add(await self.in_background(functools.partial(load_model, name, folder, self.train.get(name))))
        except Exception as error:  # noqa: BLE001 - the server ends, and the command raises it
            self.failure = error

    def add(self, served: ServedModel) -> None:
        tell = functools.partial(self._tell, served.name)
        self._batchers[served.name] = Batcher(served.answer, served.executor, self.settings.batch_texts, tell)
        self.models[served.name] = served
        log("model loaded", model=served.name, labels=len(served.snapshot.labels))

    def _tell(self, name: str, facts: BatchFacts) -> None:
        self.metrics.texts.add(name, amount=facts.n_documents)
        self.metrics.batch_texts.observe(facts.n_documents, name)
        self.metrics.inference_seconds.observe(facts.seconds, name)
        for seconds in facts.waited:
            self.metrics.queue_seconds.observe(seconds, name)

    def model(self, name: str | None = None) -> ServedModel:
        if name is None and self.models:
            return next(iter(self.models.values()))
        if name not in self.models:
            raise RequestError(404, f"there is no model {name!r:.100}{nearest(str(name)[:100], self.models)}")
        return self.models[name]

    async def reload(self, name: str) -> bool:
        """Loads the folder again and swaps the model in; the old one goes on where the folder can't be used."""
        served = self.models[name]
        try:
            fresh = await self.in_background(functools.partial(_reloaded, served))
        except (ZipfelError, OSError) as error:
            log("reload failed: the model in memory goes on", level="error", model=name, error=str(error))
            self.metrics.reloads.add(name, "failed")
            return False
        served.snapshot = fresh
        self.metrics.reloads.add(name, "done")
        log("model reloaded", model=name, version=fresh.version)
        return True

    async def in_background(self, job: Callable[[], T]) -> T:
        """Runs work that is no prediction, one piece after another, beside the predictions."""
        return await asyncio.get_running_loop().run_in_executor(self._background, job)

    # -- answers -----------------------------------------------------------------------------------------------------

    async def predict(
        self, served: ServedModel, documents: Sequence[Document], k: int | None = None, threshold: float = 0.0
    ) -> Answered:
        """The k best labels of each document with at least this probability."""
        self.check_documents(documents)
        if not documents:
            return Answered(served.snapshot, [])
        answered = await self._batchers[served.name].ask(documents, self.check_k(k))
        if threshold <= 0:
            return answered
        return Answered(answered.snapshot, [[pair for pair in row if pair[1] >= threshold] for row in answered.rows])

    async def explain(
        self, served: ServedModel, document: Document, labels: Sequence[str] | None = None, k: int | None = None
    ) -> WhyAnswered:
        """Why the document got its k best labels, or would get the given ones."""
        self.check_documents([document])
        asked = None if labels is None else [self.label(served.snapshot, label) for label in labels]
        job = functools.partial(served.explain, document, asked, self.check_k(k))
        return await asyncio.get_running_loop().run_in_executor(served.executor, job)

    def label(self, snapshot: Snapshot, label: str) -> int:
        position = snapshot.labels.position(label)
        if position is None:
            raise RequestError(422, f"the model has no label {label!r:.100}: GET /v1/labels?query=... finds labels")
        return position

    async def find_labels(
        self, served: ServedModel, query: str, language: str | None, limit: int
    ) -> tuple[Snapshot, list[int]]:
        snapshot = served.snapshot
        job = functools.partial(snapshot.labels.find, query, language, limit)
        return snapshot, await asyncio.get_running_loop().run_in_executor(None, job)

    async def learn(self, served: ServedModel, texts: Sequence[str], tags: Sequence[Sequence[str]]) -> None:
        """Adds documents with their labels to the model."""
        if not self.settings.learning:
            raise RequestError(403, "this service is read-only: it does not learn")
        self.check_documents(texts)
        if texts:
            served.snapshot = await self.in_background(functools.partial(learned, served, texts, tags))
            self.metrics.learned.add(served.name, amount=len(texts))

    # -- limits ------------------------------------------------------------------------------------------------------

    def check_k(self, k: int | None) -> int:
        k = self.settings.k if k is None else k
        if not 1 <= k <= self.settings.max_k:
            raise RequestError(422, f"k must lie between 1 and {self.settings.max_k}, got {k!r:.40}")
        return k

    def check_documents(self, documents: Sequence[Document]) -> None:
        settings = self.settings
        if len(documents) > settings.max_texts:
            raise RequestError(
                422, f"a request may have {settings.max_texts} documents, got {len(documents)}: send several requests"
            )
        for document in documents:
            if len(document) > settings.max_text_length:
                raise RequestError(
                    422, f"a text may have {settings.max_text_length:,} characters, got {len(document):,}: shorten it"
                )
            if isinstance(document, str):
                try:
                    check_unicode(document)
                except ValueError as error:
                    raise RequestError(422, str(error)) from None

    def close(self) -> None:
        for served in self.models.values():
            served.executor.shutdown(wait=False)
        self._background.shutdown(wait=False)


def load_model(name: str, folder: Path, train: str | None = None) -> ServedModel:
    served = ServedModel(name, folder, Snapshot.of(Zipfel.load(folder)), read_openings(train))
    served.warm(served.snapshot)
    return served


def _reloaded(served: ServedModel) -> Snapshot:
    return served.warm(Snapshot.of(Zipfel.load(served.folder), served.snapshot.version + 1))


def read_openings(train: str | None, length: int = 240) -> list[str]:
    """How each document of a training file begins, by row."""
    if train is None:
        return []
    from zipfel.data import read

    data: Any = read(train)
    texts = data.texts or [""] * data.n_points
    return [" ".join(text[: 2 * length].split())[:length] for text in texts]
