"""Processes texts in pieces, in several threads, so that a corpus need not fit in memory."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from zipfel.system.threads import get_threads

A = TypeVar("A")
B = TypeVar("B")


def chunks(texts: Iterable[str], characters: int) -> Iterator[list[str]]:
    """Runs of texts with about that many characters together (one longer text is a run of its own)."""
    chunk: list[str] = []
    size = 0
    for text in texts:
        chunk.append(text)
        size += len(text) + 1 if isinstance(text, str) else 1  # what is no text is refused when it is encoded
        if size >= characters:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def in_order(work: Callable[[A], B], items: Iterable[A]) -> Iterator[B]:
    """work(item) for each, in threads, results in the order of the items; only a few items are held at a time."""
    threads, items = get_threads(), iter(items)
    first = list(itertools.islice(items, 2))
    if threads == 1 or len(first) < 2:  # threads cost more to start than a short text costs to read
        yield from map(work, itertools.chain(first, items))
        return
    with ThreadPoolExecutor(threads) as pool:
        pending: deque[Future[B]] = deque()
        for item in itertools.chain(first, items):
            pending.append(pool.submit(work, item))
            if len(pending) > 2 * threads:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
