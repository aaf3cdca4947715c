"""Blocks of rows over threads, and works side by side."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import threadpoolctl

import zipfel.system.threads
from zipfel.system.threads import (
    Halted,
    at_once,
    blas_threads,
    blocks,
    check_halted,
    get_threads,
    over_blocks,
    use_threads,
)


def test_blocks_cover_everything_once() -> None:
    assert blocks(10, 3) == [(0, 3), (3, 6), (6, 10)]
    assert blocks(2, 8) == [(0, 1), (1, 2)]
    assert blocks(0, 4) == []


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("parts", [None, 1, 7])
def test_every_row_is_worked_on_once(threads: int, parts: int | None) -> None:
    seen = np.zeros(100, dtype=int)

    def work(start: int, stop: int) -> None:
        seen[start:stop] += 1

    with use_threads(threads):
        over_blocks(work, 100, parts=parts)
    assert (seen == 1).all()


def test_blocks_inside_blocks_end() -> None:
    seen = np.zeros((8, 50), dtype=int)

    def outer(start: int, stop: int) -> None:
        for row in range(start, stop):

            def inner(a: int, b: int, row: int = row) -> None:
                seen[row, a:b] += 1

            over_blocks(inner, 50)

    with use_threads(3):
        over_blocks(outer, 8, parts=8)
    assert (seen == 1).all()


@pytest.mark.parametrize("bad", [0, 1, 3])
def test_an_error_in_any_block_is_raised(bad: int) -> None:
    def work(start: int, stop: int) -> None:
        if start <= bad < stop:
            raise ValueError(f"row {bad}")

    with use_threads(2), pytest.raises(ValueError, match=f"row {bad}"):
        over_blocks(work, 4, parts=4)


def _sum_in_child(queue: multiprocessing.Queue[int]) -> None:
    found = np.zeros(10, dtype=int)

    def work(start: int, stop: int) -> None:
        found[start:stop] = 1

    over_blocks(work, 10)
    queue.put(int(found.sum()))


def test_threads_survive_a_fork() -> None:
    with use_threads(2):
        over_blocks(lambda _start, _stop: None, 10)
        context = multiprocessing.get_context("fork")
        queue: multiprocessing.Queue[int] = context.Queue()
        child = context.Process(target=_sum_in_child, args=(queue,))
        child.start()
        assert queue.get(timeout=30) == 10
        child.join()


@pytest.mark.parametrize("threads", [1, 2])
def test_works_side_by_side_answer_in_order(threads: int) -> None:
    with use_threads(threads):
        assert at_once(*(lambda i=i: i * i for i in range(5))) == [0, 1, 4, 9, 16]
        assert get_threads() == threads


def test_side_by_side_each_has_one_thread() -> None:
    with use_threads(2):
        assert at_once(get_threads, get_threads) == [1, 1]


def test_sharing_each_has_all_threads_and_works_inside_keep_to_themselves() -> None:
    begun, done = threading.Barrier(2, timeout=30), threading.Barrier(2, timeout=30)

    def alone() -> list[int]:
        def inner() -> int:
            begun.wait()
            found = get_threads()
            done.wait()
            return found

        return at_once(inner, get_threads, threads=2)

    def beside() -> int:
        begun.wait()  # the other's works are at work, with a thread each
        found = get_threads()
        done.wait()
        return found

    with use_threads(3):
        assert at_once(alone, beside, get_threads, sharing=True) == [[1, 1], 3, 3]
        assert get_threads() == 3


def test_threads_that_a_work_asks_for_are_its_own() -> None:
    def asking() -> tuple[int, int]:
        with use_threads(5):
            inside = get_threads()
        return inside, get_threads()

    with use_threads(2):
        assert at_once(asking, get_threads) == [(5, 1), 1]
        assert get_threads() == 2


def _sleep_until_halted(halted: threading.Event) -> None:
    try:
        for _ in range(3000):
            time.sleep(0.01)
            check_halted()
    except Halted:
        halted.set()
        raise


def test_the_first_error_halts_the_others() -> None:
    halted = threading.Event()

    def wrong() -> None:
        raise ValueError("no")

    with use_threads(2), pytest.raises(ValueError, match="no"):
        at_once(lambda: _sleep_until_halted(halted), wrong)
    assert halted.is_set()


def test_works_inside_works_may_have_more_threads_and_are_halted_with_them() -> None:
    begun, halted = threading.Barrier(2, timeout=30), threading.Event()

    def long() -> None:
        begun.wait()  # both are at work: there were two threads for them
        _sleep_until_halted(halted)

    def wrong() -> None:
        time.sleep(0.05)
        raise ValueError("no")

    with use_threads(2), pytest.raises(ValueError, match="no"):
        at_once(lambda: at_once(long, long, threads=2), wrong)
    assert halted.is_set()


def test_alone_nothing_halts() -> None:
    check_halted()


def test_products_of_numpy_keep_to_the_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    def most() -> int:
        found = threadpoolctl.threadpool_info()
        return max(int(pool["num_threads"]) for pool in found if pool["user_api"] == "blas")

    before = most()
    monkeypatch.setattr(zipfel.system.threads, "available_threads", lambda: 64)
    with use_threads(1), blas_threads():
        assert most() == 1
    assert most() == before

    first, second = blas_threads(), blas_threads()  # as of two threads: the first leaves before the second
    with use_threads(1):
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert most() == 1
        second.__exit__(None, None, None)
    assert most() == before


LATER = """
import sys, numpy as np, threadpoolctl
from zipfel.system import threads
threads.available_threads = lambda: 64
def numbers():
    return [pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]
with threads.blas_threads(1):
    few = len(numbers())
import scipy.linalg  # brings another BLAS than numpy's
with threads.blas_threads(1):
    print(few < len(numbers()), set(numbers()))
"""


def test_a_library_that_is_loaded_later_is_limited_too() -> None:
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", LATER], cwd=root, capture_output=True, text=True, timeout=60)
    if done.stdout.startswith("False"):
        pytest.skip("scipy shares numpy's BLAS, or zipfel loads it")
    assert done.stdout.strip() == "True {1}", done.stderr[-2000:]


def test_a_limit_is_that_of_a_call_and_not_of_the_process() -> None:
    torch = pytest.importorskip("torch")
    faiss = pytest.importorskip("faiss")
    before = get_threads(), torch.get_num_threads(), faiss.omp_get_max_threads()
    elsewhere: list[int] = []
    with use_threads(before[0] + 3):
        assert (get_threads(), torch.get_num_threads(), faiss.omp_get_max_threads()) == (before[0] + 3,) * 3
        other = threading.Thread(target=lambda: elsewhere.append(get_threads()))
        other.start()
        other.join()
    assert elsewhere == [before[0]]
    assert (get_threads(), torch.get_num_threads(), faiss.omp_get_max_threads()) == before


CHILD = """
import multiprocessing, sys, threading
import numpy as np, torch, faiss
from tests.contract import QUICK
from tests.test_pickling import ASKED, NAMES, TEXTS, answer
from zipfel import Zipfel
from zipfel.system.threads import get_threads, set_threads
set_threads(2)
models = [Zipfel(name, threads=2, **QUICK.get(name, {})).fit(TEXTS, NAMES) for name in ("dxml", "rankae", "auto")]
said = [answer(model) for model in models]
torch.ones(2000, 2000) @ torch.ones(2000, 2000)  # starts OpenMP's threads
faiss.IndexFlatIP(8).search(np.ones((5000, 8), dtype=np.float32), 1)

def ask(sender):
    torch.ones(2000, 2000) @ torch.ones(2000, 2000)
    now = [answer(model) for model in models]
    same = all(np.allclose(a, b, atol=1e-5) for one, other in zip(now, said) for a, b in zip(one, other))
    sender.send((get_threads(), torch.get_num_threads(), same))

receiver, sender = multiprocessing.get_context("fork").Pipe(duplex=False)
child = multiprocessing.get_context("fork").Process(target=ask, args=(sender,), daemon=True)
child.start()
print(receiver.recv() if receiver.poll(60) else "hangs", get_threads())
child.kill()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_forked_children_answer_with_one_thread() -> None:
    pytest.importorskip("torch")
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", CHILD], cwd=root, capture_output=True, text=True, timeout=180)
    assert done.stdout.strip() == "(1, 1, True) 2", done.stderr[-2000:]
