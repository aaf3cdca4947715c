"""A pickled model answers the same in another process, however that process was started."""

from __future__ import annotations

import multiprocessing
import pickle
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.contract import QUICK
from zipfel import Zipfel
from zipfel.methods import method_names

WORDS = ["bike", "boat", "paint", "oil", "sail", "wheel", "chain", "mast"]
TEXTS = [f"{WORDS[i % 8]} and {WORDS[(i * 3 + i // 8) % 8]} number{i % 5}" for i in range(64)]
NAMES = [[word for word in WORDS if word in text] for text in TEXTS]
ASKED = ["a boat with a mast", "oil on the chain of a bike", "", "nothing known"]

Answer = tuple[list[list[int]], list[list[float]]]


@cache
def fitted(name: str) -> Zipfel:
    model = Zipfel(name, threads=1, **QUICK.get(name, {})).fit(TEXTS, NAMES)
    model.predict(ASKED)  # what is made for answering must not be in the way
    return model


def answer(model: Zipfel) -> Answer:
    ranking = model.predict(ASKED, k=3)
    return ranking.labels.tolist(), ranking.scores.tolist()


def answer_of_pickle(data: bytes) -> Answer:
    model = pickle.loads(data)
    assert isinstance(model, Zipfel)
    return answer(model)


def pickles() -> dict[str, bytes]:
    return {name: pickle.dumps(fitted(name)) for name in method_names()}


def test_a_pickle_holds_no_hashes_of_this_process() -> None:
    model = pickle.loads(pickle.dumps(fitted("knn")))
    assert model.rows_.vectorizer._lookup is None


def test_a_new_process(tmp_path: Path) -> None:
    """As from a file that another program wrote, e.g. after a restart."""
    (tmp_path / "in").write_bytes(pickle.dumps(pickles()))
    code = (
        "import pickle, sys; from tests.test_pickling import answer_of_pickle\n"
        "found = pickle.load(open(sys.argv[1], 'rb'))\n"
        "pickle.dump({name: answer_of_pickle(data) for name, data in found.items()}, open(sys.argv[2], 'wb'))"
    )
    root = Path(__file__).resolve().parents[1]
    command = [sys.executable, "-c", code, str(tmp_path / "in"), str(tmp_path / "out")]
    subprocess.run(command, check=True, cwd=root, timeout=120)
    found = pickle.loads((tmp_path / "out").read_bytes())
    assert found == {name: answer(fitted(name)) for name in method_names()}


def test_loky() -> None:
    loky = pytest.importorskip("joblib.externals.loky")
    with loky.ProcessPoolExecutor(1) as pool:
        for name, data in pickles().items():
            assert pool.submit(answer_of_pickle, data).result(timeout=120) == answer(fitted(name)), name


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system has no fork")
@pytest.mark.parametrize("name", method_names())
def test_a_forked_process(name: str) -> None:
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    data, expected = pickle.dumps(fitted(name)), answer(fitted(name))
    child = context.Process(target=lambda: sender.send([answer_of_pickle(data), answer(fitted(name))]))
    child.start()
    try:
        assert receiver.poll(60), "the forked process hangs"
        assert receiver.recv() == [expected, expected]
    finally:
        child.kill()
        child.join()
