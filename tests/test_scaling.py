"""Work grows with the input, not with its square: four times the input may take eight times the work, not sixteen.

The unit is the processor's time of one against that of the other, the least of three tries; each pair is long enough
to be told from noise, and no time is compared with a number.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel import Zipfel
from zipfel.data import read, read_documents, read_vocabulary
from zipfel.data.streams import Stream
from zipfel.errors import DataError
from zipfel.features import Vectorizer, VectorizerConfig

GROWTH, MOST = 4, 8.0
NOISE = 0.02
"""Seconds that are added to both sides."""


def assert_linear(work: Callable[[int], Callable[[], object]], size: int) -> None:
    """work(n) prepares an input of size n and returns what is to be measured."""
    small, large = work(size), work(GROWTH * size)
    small()  # compiles
    ratio = (_least(large) + NOISE) / (_least(small) + NOISE)
    assert ratio < MOST, f"{GROWTH} times the input takes {ratio:.1f} times the work"


def _least(job: Callable[[], object]) -> float:
    found = []
    for _ in range(3):
        start = time.process_time()
        job()
        found.append(time.process_time() - start)
    return min(found)


def attributes(n: int) -> str:
    return "".join(f"@attribute a{i} numeric\n" for i in range(n))


FILES: dict[str, Callable[[int], str]] = {
    "rows.jsonl": lambda n: '{"text": "a b", "labels": ["c"]}\n' * n,
    "long.jsonl": lambda n: '{"text": "a", "labels": [' + ",".join(f'"{i}"' for i in range(n)) + "]}\n",
    "rows.csv": lambda n: "text,labels\n" + '"a, b",c;d\n' * n,
    "quotes.tsv": lambda n: "text\tlabels\n" + '"a\tb\n' * n,
    "open.csv": lambda n: "text,labels\n" + '"a,b\n' * n,
    "lists.csv": lambda n: 'text,labels\na,"[' + ",".join(f"'{i}'" for i in range(n)) + ']"\n',
    "columns.csv": lambda n: ",".join(f"c{i}" for i in range(n)) + ",text,labels\n" + "," * n + "a,b\n",
    "spaces.txt": lambda n: " " * 20 * n + "x\n",
    "rows.svm": lambda n: "1,2 3:4 5:6\n" * n,
    "falling.svm": lambda n: "1 " + " ".join(f"{i}:1" for i in range(n, 0, -1)) + "\n",
    "m.arff": lambda n: f"@relation 'r: -C 2'\n{attributes(n)}@data\n{{1 1}}\n",
    "ft.txt": lambda n: "__label__a b\n" * n,
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_readers(name: str, tmp_path: Path) -> None:
    def work(n: int) -> Callable[[], object]:
        path = tmp_path / str(n) / name
        path.parent.mkdir()
        path.write_text(FILES[name](n))

        def job() -> None:
            for reader in (read, read_documents):
                with suppress(DataError):
                    reader(path)

        return job

    assert_linear(work, 4000)


def test_label_xml(tmp_path: Path) -> None:
    def work(n: int) -> Callable[[], object]:
        path = tmp_path / f"m{n}.arff"
        path.write_text(f"@relation r\n{attributes(n)}@data\n{{1 1}}\n")
        path.with_suffix(".xml").write_text("<l>" + "".join(f'<label name="a{i}"/>' for i in range(n // 2)) + "</l>")
        return lambda: read(path)

    assert_linear(work, 3000)


def test_vocabularies(tmp_path: Path) -> None:
    def work(n: int) -> Callable[[], object]:
        path = tmp_path / f"{n}.tsv"
        path.write_text("".join(f"<http://x.org/{i}>\tname {i}\n" for i in range(n)))
        return lambda: read_vocabulary(path)

    assert_linear(work, 3000)


@pytest.mark.parametrize("piece", ["word ", "x", " ", "a\u0301", "1.", "-", "A", "\u00df", "\ud55c"])
def test_one_long_text(piece: str) -> None:
    texts = ["some words of a text", "and other words of another"]

    def work(n: int) -> Callable[[], object]:
        vectorizer = Vectorizer(VectorizerConfig())
        vectorizer.fit_transform(texts)
        return lambda: vectorizer.transform([piece * n])

    assert_linear(work, 30_000)


def test_lines_that_come_in_small_pieces() -> None:
    def work(n: int) -> Callable[[], object]:
        content = b"x" * (200 * n) + b"\n"
        return lambda: sum(len(block) for block in Stream(io.BytesIO(content), "x").blocks(64))

    assert_linear(work, 1000)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["knn", "popular", "ova", "centroid"])
def test_prediction_by_documents_and_labels(method: str) -> None:
    def work(n: int) -> Callable[[], object]:
        rng = np.random.default_rng(n)
        X = sp.random(n, 5000, 0.002, format="csr", random_state=rng, dtype=np.float32)
        Y = sp.csr_matrix((np.ones(n, np.float32), rng.integers(0, n // 4, n), np.arange(n + 1)), (n, n // 4))
        model = Zipfel(method, weighting="none", threads=1).fit(X, Y)
        return lambda: model.predict(X[:200], k=5)

    assert_linear(work, 1000)
