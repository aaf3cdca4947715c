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
from zipfel.data import Dataset
from zipfel.data.documents import check_unicode
from zipfel.errors import ZipfelError, nearest
from zipfel.serve.batching import Batcher, BatchFacts
from zipfel.serve.errors import RequestError
from zipfel.serve.feedback import add_feedback, feedback_path
from zipfel.serve.learning import Learner, stamp_of
from zipfel.serve.logs import log
from zipfel.serve.metrics import Gauge, Metrics
from zipfel.serve.served import Answered, Document, ServedModel, Snapshot, WhyAnswered, Wish
from zipfel.serve.settings import Settings, Tokens

T = TypeVar("T")
Tagged = tuple[str, Sequence[str]]
"""A text and its labels."""
OPENING = 240
"""Characters of a training document that are kept."""


@dataclass
class Service:
    """Models by name. The first one answers if a request names no model.

    folders: model folder by name. train: training data, or their file, by name, for the beginnings of documents.
    examples: texts that the page offers, by name. feedback: file for feedback; beside each model where it is None.
    draining: set when the process is to stop.
    """

    folders: Mapping[str, Path]
    settings: Settings = field(default_factory=Settings)
    tokens: Tokens = field(default_factory=lambda: Tokens([]))
    train: Mapping[str, str | Dataset] = field(default_factory=dict)
    feedback: Path | None = None
    examples: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.models: dict[str, ServedModel] = {}
        self.metrics = Metrics()
        self.draining = False
        self.in_flight = 0
        self.failure: BaseException | None = None
        self._batchers: dict[str, Batcher[Document, Wish, Answered]] = {}
        self._learners: dict[str, Learner] = {}
        self._lessons: dict[str, Batcher[Tagged, None, Snapshot]] = {}
        self._saving: dict[str, asyncio.Task[None]] = {}
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
                served = await self.in_background(
                    functools.partial(load_model, name, folder, self.train.get(name), self.settings.encoder)
                )
                served.examples = self.examples.get(name) or served.examples
                learner = Learner(served)
                if self.settings.learning and hasattr(served.snapshot.model.method_, "partial_fit"):
                    await self.in_background(learner.open)
                self.add(served, learner)
        except Exception as error:  # noqa: BLE001 - the server ends, and the command raises it
            self.failure = error

    def add(self, served: ServedModel, learner: Learner) -> None:
        tell = functools.partial(self._tell, served.name)
        self._batchers[served.name] = Batcher(served.answer, served.executor, self.settings.batch_texts, tell)
        self._learners[served.name] = learner
        self._lessons[served.name] = Batcher(learner.learn, self._background, self.settings.learn_texts)
        self.models[served.name] = served
        if learner.unsaved:
            self._save_later(served.name)
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
            await self.in_background(self._learners[name].reload)
        except (ZipfelError, OSError) as error:
            log("reload failed: the model in memory goes on", level="error", model=name, error=str(error))
            self.metrics.reloads.add(name, "failed")
            return False
        self.metrics.reloads.add(name, "done")
        log("model reloaded", model=name, version=served.snapshot.version)
        return True

    async def in_background(self, job: Callable[[], T]) -> T:
        """Runs work that is no prediction, one piece after another, beside the predictions."""
        return await asyncio.get_running_loop().run_in_executor(self._background, job)

    # -- answers -----------------------------------------------------------------------------------------------------

    async def predict(self, served: ServedModel, documents: Sequence[Document], wish: Wish | None = None) -> Answered:
        """The labels of each document, best first."""
        self.check_documents(documents)
        wish = wish or Wish(self.settings.k)
        self.check_k(wish.k)
        if len(documents) * wish.k > self.settings.max_answered:
            most = self.settings.max_answered
            raise RequestError(422, f"a request may ask for {most:,} labels: fewer documents, or a smaller k")
        if not documents:
            return Answered(served.snapshot, [])
        return await self._batchers[served.name].ask(documents, wish)

    async def explain(
        self, served: ServedModel, document: Document, labels: Sequence[str] | None = None, k: int | None = None
    ) -> WhyAnswered:
        """Why the document got its k best labels, or would get the given ones."""
        self.check_documents([document])
        if self.check_k(k) > self.settings.max_explained:
            raise RequestError(422, f"{self.settings.max_explained} labels at most are explained at once, got k = {k}")
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

    # -- learning ----------------------------------------------------------------------------------------------------

    async def learn(self, served: ServedModel, texts: Sequence[str], tags: Sequence[Sequence[str]]) -> Snapshot:
        """Adds documents with their labels to the model; returns when they are on disk and the new model answers."""
        self._check_learning()
        if not served.snapshot.takes_texts:
            raise RequestError(422, "this model was trained on ready-made features: use `zipfel update`")
        if not hasattr(served.snapshot.model.method_, "partial_fit"):
            raise RequestError(422, f"the method {served.snapshot.model.method!r} can't learn without a new fit")
        self.check_documents(texts)
        if not texts:
            return served.snapshot
        snapshot = await self._lessons[served.name].ask(list(zip(texts, tags, strict=True)), None)
        self.metrics.learned.add(served.name, amount=len(texts))
        self._save_later(served.name)
        return snapshot

    def _save_later(self, name: str) -> None:
        """Saves the model after a while, once for all that is learned until then."""

        async def save() -> None:
            await asyncio.sleep(self.settings.save_seconds)
            del self._saving[name]
            await self.in_background(self._learners[name].save)

        if name not in self._saving:
            self._saving[name] = asyncio.get_running_loop().create_task(save())

    async def keep_feedback(
        self,
        served: ServedModel,
        text: str,
        accepted: Sequence[str],
        rejected: Sequence[str],
        withdrawn: Sequence[str] = (),
    ) -> int:
        """Keeps verdicts on labels of a text; returns how many there were, when they are on disk."""
        self._check_learning()
        self.check_documents([text])
        known = served.snapshot.labels.known
        good, bad, none = (
            [known[self.label(served.snapshot, label)] for label in labels]
            for labels in (accepted, rejected, withdrawn)
        )
        path = self.feedback or feedback_path(served.folder)
        return await self.in_background(functools.partial(add_feedback, path, served.name, text, good, bad, none))

    def _check_learning(self) -> None:
        if not self.settings.learning:
            raise RequestError(403, "this service is read-only: it learns nothing and keeps no feedback")

    def changed_folders(self) -> list[str]:
        """Models whose folder holds another model than the one that was last read or written."""
        stamps = ((name, stamp_of(served), served.stamp) for name, served in self.models.items())
        return [name for name, now, then in stamps if now is not None and now != then]

    async def save_all(self) -> None:
        """Saves what was learned; called when no request is left."""
        for task in self._saving.values():
            task.cancel()
        for learner in self._learners.values():
            await self.in_background(learner.close)

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


def load_model(name: str, folder: Path, train: str | Dataset | None = None, encoder: str | None = None) -> ServedModel:
    """encoder: the import path of what makes embeddings, for a model that reads them."""
    model = Zipfel.load(folder)
    model.encoder = encoder
    served = ServedModel(name, folder, Snapshot.of(model), read_openings(train))
    served.stamp = stamp_of(served)
    served.warm(served.snapshot)
    served.describe()
    served.examples = _examples(served.openings)
    return served


def read_openings(train: str | Dataset | None) -> list[str]:
    """How each training document begins, by row."""
    if train is None:
        return []
    from zipfel.data import read

    data: Any = read(train) if isinstance(train, str) else train
    texts = data.texts or [""] * data.n_points
    return [" ".join(text[: 2 * OPENING].split())[:OPENING] for text in texts]


def _examples(openings: Sequence[str]) -> list[str]:
    """Three documents from all over the training file, none of them a stub."""
    long = [text for text in openings if len(text) > 60]
    found = [long[i * len(long) // 4] for i in (1, 2, 3)] if len(long) > 3 else []
    return [text if len(text) < OPENING else text.rpartition(" ")[0] or text for text in found]
