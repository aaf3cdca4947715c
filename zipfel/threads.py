"""How many cores are used, in one place; and row blocks spread over them, for kernels that release the GIL."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
"""Read when torch or faiss load OpenMP. By default its idle threads spin, and with our own threads, or other work, on
the same cores that slows training by up to 20 times; sleeping threads cost some microseconds a call."""


def available_threads() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_threads = available_threads()


def get_threads() -> int:
    return _threads


def set_threads(threads: int) -> None:
    """For zipfel's kernels, and for torch and faiss where they are loaded."""
    global _threads
    _threads = max(1, threads)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(_threads)
    if "faiss" in sys.modules:
        sys.modules["faiss"].omp_set_num_threads(_threads)


@contextmanager
def use_threads(threads: int | None) -> Iterator[None]:
    """`set_threads` for the length of a block; None leaves things as they are."""
    before = get_threads()
    if threads is not None:
        set_threads(threads)
    try:
        yield
    finally:
        set_threads(before)


def blocks(n: int, parts: int) -> list[tuple[int, int]]:
    """0..n cut into at most `parts` even runs (start, stop); none is empty."""
    parts = max(1, min(parts, n))
    edges = [n * i // parts for i in range(parts + 1)]
    return [(a, b) for a, b in itertools.pairwise(edges) if b > a]


def over_blocks(work: Callable[[int, int], None], n: int, *, parts: int | None = None) -> None:
    """work(start, stop) for runs of 0..n, one thread each; `parts` sets how many runs (default: one a thread).

    The runs write to places of their own, so the result does not depend on which ends first.
    """
    runs = blocks(n, parts or _threads)
    if _threads == 1 or len(runs) == 1:
        for start, stop in runs:
            work(start, stop)
        return
    with ThreadPoolExecutor(_threads) as pool:
        for done in [pool.submit(work, start, stop) for start, stop in runs]:
            done.result()
