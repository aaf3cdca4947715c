"""Requests that wait while the model works are answered together in its next batch; an idle model answers at once."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Document = TypeVar("Document")
Answer = TypeVar("Answer")
Wish = TypeVar("Wish")
"""What is asked about the documents; hashable."""


@dataclass
class _Job(Generic[Document, Wish, Answer]):
    documents: Sequence[Document]
    wish: Wish
    done: asyncio.Future[Answer]
    since: float = field(default_factory=time.monotonic)


@dataclass(frozen=True)
class BatchFacts:
    """What one batch was: its documents, the seconds that each of its requests waited, and its own seconds."""

    n_documents: int
    waited: Sequence[float]
    seconds: float


class Batcher(Generic[Document, Wish, Answer]):
    """Merges concurrent requests for one model.

    answer: called in the executor with the documents of one batch and the wish; it returns one answer for each
    request, given how many documents each request has. Requests of one batch have the same wish, so an answer never
    depends on what else is asked at the same time. If a batch fails, each of its requests is tried alone: one bad
    request harms no other.
    """

    def __init__(
        self,
        answer: Callable[[Sequence[Document], Sequence[int], Wish], Sequence[Answer]],
        executor: Executor,
        max_documents: int,
        tell: Callable[[BatchFacts], None] = lambda _: None,
    ) -> None:
        self._answer, self._executor, self._max = answer, executor, max_documents
        self._tell = tell
        self._waiting: deque[_Job[Document, Wish, Answer]] = deque()
        self._worker: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        """Requests that wait."""
        return len(self._waiting)

    async def ask(self, documents: Sequence[Document], wish: Wish) -> Answer:
        job = _Job[Document, Wish, Answer](documents, wish, asyncio.get_running_loop().create_future())
        self._waiting.append(job)
        if self._worker is None:
            self._worker = asyncio.create_task(self._work())
        return await job.done

    async def _work(self) -> None:
        try:
            while self._waiting:
                await self._run(self._next())
        finally:
            self._worker = None

    def _next(self) -> list[_Job[Document, Wish, Answer]]:
        """The oldest request, and those after it with the same wish, up to the limit of documents."""
        first = self._waiting.popleft()
        batch, size = [first], len(first.documents)
        for job in list(self._waiting):
            if job.wish == first.wish and size + len(job.documents) <= self._max:
                batch.append(job)
                size += len(job.documents)
                self._waiting.remove(job)
        return batch

    async def _run(self, batch: list[_Job[Document, Wish, Answer]]) -> None:
        batch = [job for job in batch if not job.done.done()]  # whose client went away is not worked on
        if not batch:
            return
        start = time.monotonic()
        documents = [document for job in batch for document in job.documents]
        sizes = [len(job.documents) for job in batch]
        loop = asyncio.get_running_loop()
        try:
            answers = await loop.run_in_executor(self._executor, self._answer, documents, sizes, batch[0].wish)
            pairs = list(zip(batch, answers, strict=True))
        except Exception as error:  # noqa: BLE001 - it is raised where it is waited for
            if len(batch) == 1:
                _fail(batch[0].done, error)
                return
            for job in batch:
                await self._run([job])
            return
        for job, answer in pairs:
            if not job.done.done():
                job.done.set_result(answer)
        waited = [start - job.since for job in batch]
        self._tell(BatchFacts(len(documents), waited, time.monotonic() - start))


def _fail(done: asyncio.Future[Answer], error: Exception) -> None:
    if not done.done():
        done.set_exception(error)
