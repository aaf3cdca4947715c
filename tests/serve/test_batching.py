"""Requests that wait are merged; nothing waits for company."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from zipfel.serve.batching import Batcher, BatchFacts


def run(
    sizes: Sequence[int], ks: Sequence[int], limit: int = 8
) -> tuple[list[object], list[BatchFacts], list[list[str]]]:
    """Answers of requests that arrive while the first one is worked on; the batches; and what each was given."""
    given: list[list[str]] = []
    facts: list[BatchFacts] = []
    go = threading.Event()

    def answer(documents: Sequence[str], parts: Sequence[int], k: int) -> list[str]:
        if not given:
            go.wait(10)
        given.append(list(documents))
        if "bad" in documents:
            raise ValueError("bad")
        return [f"{size} of {k}" for size in parts]

    async def main() -> list[object]:
        with ThreadPoolExecutor(1) as pool:
            batcher = Batcher(answer, pool, limit, facts.append)
            asked = []
            for size, k in zip(sizes, ks, strict=True):
                asked.append(asyncio.create_task(batcher.ask(["a"] * size or ["bad"], k)))
                await asyncio.sleep(0.02)
            go.set()
            return await asyncio.gather(*asked, return_exceptions=True)

    return asyncio.run(main()), facts, given


def test_what_waits_is_answered_together() -> None:
    answers, facts, _ = run([1, 2, 3], [5, 5, 5])
    assert answers == ["1 of 5", "2 of 5", "3 of 5"]
    assert [fact.n_documents for fact in facts] == [1, 5]
    assert len(facts[1].waited) == 2


def test_a_batch_has_one_k_and_a_limit() -> None:
    answers, facts, _ = run([1, 4, 1, 4, 1], [5, 5, 9, 5, 5], limit=5)
    assert answers == ["1 of 5", "4 of 5", "1 of 9", "4 of 5", "1 of 5"]
    assert sorted(fact.n_documents for fact in facts) == [1, 1, 4, 5]


def test_a_bad_request_harms_no_other() -> None:
    answers, _, _ = run([1, 2, 0, 3], [5, 5, 5, 5])
    assert answers[:2] + answers[3:] == ["1 of 5", "2 of 5", "3 of 5"]
    assert isinstance(answers[2], ValueError)


def test_a_request_whose_client_went_away_is_left_out() -> None:
    given: list[int] = []

    async def main() -> None:
        with ThreadPoolExecutor(1) as pool:
            release = threading.Event()
            pool.submit(release.wait, 10)
            batcher = Batcher(lambda documents, _, k: given.append(len(documents)) or ["x"], pool, 8)
            first = asyncio.create_task(batcher.ask(["a"], 1))
            await asyncio.sleep(0.02)
            second = asyncio.create_task(batcher.ask(["a"], 1))
            await asyncio.sleep(0.02)
            second.cancel()
            release.set()
            assert await first == "x"
            with pytest.raises(asyncio.CancelledError):
                await second
            while batcher._worker is not None:
                await asyncio.sleep(0.01)

    asyncio.run(main())
    assert given == [1]
