"""`partial_fit` takes place in one step: other threads see the model before or after; a failed one changes nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.contract import QUICK
from zipfel import Zipfel
from zipfel.methods.registry import methods_with

WORDS = ["bike", "boat", "paint", "oil", "sail", "wheel", "chain", "mast"]
TEXTS = [f"{WORDS[i % 8]} and {WORDS[(i * 3 + i // 8) % 8]} number{i % 5}" for i in range(96)]
NAMES = [[word for word in WORDS if word in text] for text in TEXTS]
MORE = [f"a {WORDS[i % 8]} with an engine" for i in range(24)]
MORE_NAMES = [[WORDS[i % 8], "engine"] for i in range(24)]
ASKED = ["a boat with a mast", "oil on the chain of a bike", "", "nothing known", "an engine"]
ABLE = methods_with("partial_fit")

Answer = tuple[list[list[int]], list[list[float]], list[str]]


def fitted(name: str) -> Zipfel:
    return Zipfel(name, threads=1, **QUICK.get(name, {})).fit(TEXTS, NAMES)


def answer(model: Zipfel) -> Answer:
    found = model.predict(ASKED, k=4)
    return found.labels.tolist(), found.scores.tolist(), list(found.names or ())


def arrays_of(model: Zipfel) -> dict[str, npt.NDArray[Any]]:
    state = model.method_.state()
    return {name: np.array(array) for name, array in state.arrays.items()}


@pytest.mark.parametrize("name", ABLE)
def test_what_had_the_model_before_keeps_it(name: str) -> None:
    """The arrays that both share are not written to."""
    model = fitted(name)
    method, before, said = model.method_, arrays_of(model), answer(model)
    kept = model._as_it_is()
    model.partial_fit(MORE, MORE_NAMES)
    assert kept.method_ is method
    after = arrays_of(kept)
    assert before.keys() == after.keys()
    assert all(np.array_equal(before[key], after[key]) for key in before)
    assert answer(kept) == said != answer(model)


@pytest.mark.parametrize("name", ABLE)
def test_predictions_meanwhile_are_those_of_one_model(name: str) -> None:
    model, versions, wrong = fitted(name), [], []
    versions.append(answer(model))
    seen: list[Answer] = []
    done = threading.Event()

    def ask() -> None:
        try:
            while not done.is_set():
                seen.append(answer(model))
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is wrong
            wrong.append(repr(error))

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for i in range(8):
        model.partial_fit(MORE[3 * i : 3 * i + 3], [[*names, f"new{i}"] for names in MORE_NAMES[3 * i : 3 * i + 3]])
        versions.append(answer(model))
    done.set()
    for thread in threads:
        thread.join()
    assert not wrong
    assert seen
    assert all(said in versions for said in seen)


class StopError(Exception):
    """Injected."""


def stopping_at(n: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The n-th array that numpy is asked for can't be had."""
    count = 0

    def counted(call: Any) -> Any:
        def allocate(*args: Any, **kwargs: Any) -> Any:
            nonlocal count
            count += 1
            if count == n:
                raise MemoryError(f"injected at allocation {n}")
            return call(*args, **kwargs)

        return allocate

    with monkeypatch.context() as patch:
        for name in ("empty", "zeros", "ones", "full", "arange", "concatenate", "repeat", "bincount", "array", "where"):
            patch.setattr(np, name, counted(getattr(np, name)))
        yield count
    yield count


@pytest.mark.parametrize("name", ABLE)
def test_an_update_without_memory_leaves_the_model_as_it_was(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails at the first, second, fourth, ... array that is made, until the update needs no further one."""
    model = fitted(name)
    said, sizes = answer(model), (model.n_labels_, model.training_["n_points"], list(model.label_counts_))
    failures = 0
    for n in (1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377):
        injected = stopping_at(n, monkeypatch)
        next(injected)
        try:
            model.partial_fit(MORE, MORE_NAMES)
        except MemoryError:
            failures += 1
        else:
            break
        finally:
            next(injected)
        assert answer(model) == said
        assert (model.n_labels_, model.training_["n_points"], list(model.label_counts_)) == sizes
    assert failures > 3
    fresh = fitted(name).partial_fit(MORE, MORE_NAMES)
    if model.n_labels_ == sizes[0]:
        model.partial_fit(MORE, MORE_NAMES)
    assert answer(model) == answer(fresh)


@pytest.mark.parametrize("name", ABLE)
def test_an_updated_model_is_saved_as_it_answers(name: str, tmp_path: Any) -> None:
    model = fitted(name)
    model.predict(ASKED)  # what is made for answering must not be what a model before the update would need
    model.partial_fit(MORE, MORE_NAMES)
    model.save(tmp_path / "m")
    assert answer(Zipfel.load(tmp_path / "m")) == answer(model)


def test_a_failed_fit_leaves_the_model_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    model = fitted("knn")
    said = answer(model)
    monkeypatch.setattr(Zipfel, "_fit", lambda *args: (_ for _ in ()).throw(StopError()))
    with pytest.raises(StopError):
        model.fit(MORE, MORE_NAMES)
    assert answer(model) == said
