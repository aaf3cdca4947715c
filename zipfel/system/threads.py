"""The number of threads, in one place. Row blocks are spread over threads for kernels that release the GIL, and whole
tasks, such as two trainings, run in parallel."""

from __future__ import annotations

import itertools
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, TypeVar

from zipfel.system.interrupts import Halt, Halted, check_halted, current_halt, halted_by

__all__ = [
    "Halted",
    "at_once",
    "available_threads",
    "blas_threads",
    "blocks",
    "check_halted",
    "get_threads",
    "library_threads",
    "over_blocks",
    "over_products",
    "set_threads",
    "use_threads",
]

T = TypeVar("T")


_LOOK = 0.1
"""Seconds after which a thread that waits for others looks whether its work is still wanted."""


def available_threads() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_threads = available_threads()
_at_work = threading.local()
"""What holds for the work that this thread was given by `at_once`."""


def get_threads() -> int:
    """Of this work, or of the process. A forked child has one: OpenMP's other threads are not there any more, and it
    would wait for them forever."""
    return 1 if _forked else getattr(_at_work, "threads", None) or _threads


_forked = False


def _after_fork() -> None:
    global _forked
    if _pools or "torch" in sys.modules or "faiss" in sys.modules:
        _forked = True
        _set_libraries(1)
    _pools.clear()
    _blas.__init__()  # type: ignore[misc] # another thread may have held its lock


def set_threads(threads: int) -> None:
    """For the process, as far as a call does not say otherwise: zipfel's kernels, and torch and faiss if loaded."""
    global _threads
    _threads = max(1, threads)
    _set_libraries(get_threads())


@contextmanager
def use_threads(threads: int | None) -> Iterator[None]:
    """What this thread does in the block takes so many threads; None leaves things as they are."""
    if threads is None:
        yield
        return
    before = getattr(_at_work, "threads", None)
    _at_work.threads = max(1, threads)
    try:
        with library_threads():
            yield
    finally:
        _at_work.threads = before


@contextmanager
def library_threads(threads: int | None = None) -> Iterator[None]:
    """Within the block, torch and faiss, if they are loaded, use this many threads for the current thread's work; by
    default as many as kernels do."""
    before = _set_libraries(get_threads() if threads is None or _forked else threads)
    try:
        yield
    finally:
        for name, number in before.items():
            _LIBRARIES[name][1](sys.modules[name], number)


_LIBRARIES: dict[str, tuple[Callable[[Any], int], Callable[[Any, int], None]]] = {
    "torch": (lambda torch: torch.get_num_threads(), lambda torch, number: torch.set_num_threads(number)),
    "faiss": (lambda faiss: faiss.omp_get_max_threads(), lambda faiss, number: faiss.omp_set_num_threads(number)),
}


def _set_libraries(threads: int) -> dict[str, int]:
    """Returns what they had before. All are read before one is set: they may share one OpenMP."""
    there = [name for name in _LIBRARIES if hasattr(sys.modules.get(name), "__version__")]  # not while it is imported
    before = {name: _LIBRARIES[name][0](sys.modules[name]) for name in there}
    for name, number in before.items():
        if number != threads:
            _LIBRARIES[name][1](sys.modules[name], threads)
    return before


class _Blas:
    """How many threads numpy's products take is one number for the whole process: whoever comes first sets it, and
    whoever leaves last sets it back."""

    _found: tuple[int, Any] | None = None
    """How many modules were imported when the process's libraries were looked for, and these."""

    def __init__(self) -> None:
        self._lock, self._inside = threading.Lock(), 0

    def enter(self, threads: int) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._limit = self._libraries.limit(limits=threads, user_api="blas")

    @property
    def _libraries(self) -> Any:
        """numpy, scipy, torch and faiss may each bring a BLAS of its own. To look for them takes milliseconds: it is
        done again only if modules were imported since."""
        if self._found is None or self._found[0] != len(sys.modules):
            from threadpoolctl import ThreadpoolController

            self._found = len(sys.modules), ThreadpoolController()
        return self._found[1]

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limit.restore_original_limits()


_blas = _Blas()


@contextmanager
def blas_threads(threads: int | None = None) -> Iterator[None]:
    """Within the block, numpy's products use this many threads, by default as many as kernels do. Without it they would
    use all cores."""
    threads = threads or get_threads()
    if threads >= available_threads():
        yield
        return
    _blas.enter(threads)
    try:
        yield
    finally:
        _blas.leave()


def blocks(n: int, parts: int) -> list[tuple[int, int]]:
    """0..n cut into at most `parts` even runs (start, stop); none is empty."""
    parts = max(1, min(parts, n))
    edges = [n * i // parts for i in range(parts + 1)]
    return [(a, b) for a, b in itertools.pairwise(edges) if b > a]


def over_blocks(work: Callable[[int, int], None], n: int, *, parts: int | None = None) -> None:
    """work(start, stop) for runs of 0..n, one thread each; `parts` sets how many runs (default: one a thread).

    The runs write to places of their own, so the result does not depend on which ends first. The caller works too:
    it takes the first run, and then whatever no other thread has begun.
    """
    if n == 1:
        work(0, 1)
        return
    check_halted()
    threads = get_threads()
    runs = blocks(n, parts or threads)
    if threads == 1 or len(runs) <= 1:
        for start, stop in runs:
            work(start, stop)
            check_halted()
        return
    others = _others(threads - 1)
    waiting = [(others.submit(_with_threads, threads, work, start, stop), start, stop) for start, stop in runs[1:]]
    try:
        work(*runs[0])
        for done, start, stop in reversed(waiting):
            if done.cancel():
                work(start, stop)
    finally:
        begun = [done for done, _, _ in waiting if not done.cancel()]
        wait(begun)
    for done in begun:
        done.result()


def _with_threads(threads: int, work: Callable[[int, int], None], start: int, stop: int) -> None:
    """In a thread of the pool, which serves callers with different limits."""
    _at_work.threads = threads
    work(start, stop)


def over_products(work: Callable[[int, int], None], n: int, *, parts: int | None = None) -> None:
    """`over_blocks` for work that multiplies by BLAS, which keeps to one thread for each run.

    The threads of BLAS sleep between calls. Waking them may take milliseconds, longer than a product of small matrices
    takes.
    """
    with blas_threads(1 if n > 1 else None):  # one row is not worth to set a limit
        over_blocks(work, n, parts=parts)


_pools: dict[int, ThreadPoolExecutor] = {}
"""By number of threads; kept, because starting threads costs more than a small kernel."""
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_after_fork)


def _others(threads: int) -> ThreadPoolExecutor:
    if threads not in _pools:
        _pools[threads] = ThreadPoolExecutor(threads, "zipfel-kernel")
    return _pools[threads]


def at_once(*works: Callable[[], T], threads: int | None = None, sharing: bool = False) -> list[T]:
    """What each of them returns, in order. They run side by side, one thread each, as many as there are threads.

    For work in long steps that gains little from a second thread, e.g. training on small batches. The first error
    ends the others, too, at their next `check_halted`; each is asked before it begins. threads: where works inside
    others are to have more than the one thread that is theirs. sharing: kernels inside are spread over all threads, as
    some works may end long before others.
    """
    around, inside = current_halt(), get_threads() if sharing else 1
    threads = min(threads or get_threads(), len(works))
    if threads <= 1:
        return [_halting(work, around, get_threads()) for work in works]
    halt = Halt(around)
    with blas_threads(1), ThreadPoolExecutor(threads, "zipfel-work") as pool:
        results = [pool.submit(_halting, work, halt, inside) for work in works]
        try:
            _await_first_error(results)
            failed = [done for done in results if done.done() and done.exception() is not None]
            return [done.result() for done in failed + results][len(failed) :]
        finally:
            halt.set()


def _await_first_error(results: Sequence[Future[T]]) -> None:
    """Until all are done or one failed; the user's Ctrl-C, or the end of the work around, ends it at once."""
    while wait(results, timeout=_LOOK, return_when=FIRST_EXCEPTION).not_done:
        if any(done.done() and done.exception() is not None for done in results):
            return
        check_halted()


def _halting(work: Callable[[], T], halt: Halt | None, threads: int) -> T:
    before = dict(vars(_at_work))
    _at_work.threads = threads
    try:
        with halted_by(halt), library_threads():
            check_halted()
            return work()
    finally:
        vars(_at_work).clear()
        vars(_at_work).update(before)
