"""Points keep their texts beside their rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.classifier import Zipfel
from zipfel.config import Config
from zipfel.methods import Method, Points, State, make_method
from zipfel.points import NO_SOURCES, Sources, Texts
from zipfel.ranking import Ranking
from zipfel.run import Run


def points(texts: Texts | None) -> Points:
    return Points(sp.identity(4, format="csr"), sp.identity(4, format="csr"), texts)


def test_texts_go_with_their_rows() -> None:
    own = points(["a", "b", None, "d"])
    taken = own.take(np.array([3, 1]))
    assert list(taken.texts or ()) == ["d", "b"]
    assert list(taken.take(np.array([False, True])).texts or ()) == ["b"]
    assert list(own.joined(points(None)).texts or ()) == ["a", "b", None, "d", None, None, None, None]
    assert points(None).joined(points(None)).texts is None
    rest, held = own.split(0.25, np.random.default_rng(0))
    assert sorted([*map(str, rest.texts or ()), *map(str, held.texts or ())]) == ["None", "a", "b", "d"]


def test_embeddings_go_with_their_rows() -> None:
    own = replace(points(None), vectors=np.arange(8, dtype=np.float32).reshape(4, 2))
    assert own.take(np.array([3, 1])).sources.vectors.tolist() == [[6, 7], [2, 3]]  # type: ignore[union-attr]
    assert own.within(2).joined(own.within(2)).vectors.shape == (8, 2)  # type: ignore[union-attr]
    assert own.joined(points(None)).vectors is None


class Reader(Method):
    """Ranks by how often a text has the label's number; remembers what it was given."""

    name = "reader"
    title = "for tests"
    Config = Config
    reads_sources = True

    def fit(self, train: Points, valid: Points | None, run: Run) -> None:
        self.texts_, self.names_ = train.texts, run.label_texts

    def predict(self, X: sp.csr_matrix, k: int, sources: Sources = NO_SOURCES) -> Ranking:
        texts = sources.texts or [None] * X.shape[0]
        counts = [[float((text or "").count(name)) for _, name, _ in self.names_] for text in texts]
        return Ranking.from_dense(np.array(counts, dtype=np.float32), k)

    def state(self) -> State:
        return State()

    def restore(self, state: State, n_features: int, n_labels: int) -> None: ...


def test_a_method_that_reads_texts_gets_them(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = make_method
    monkeypatch.setattr(
        "zipfel.classifier.make_method", lambda *given: Reader(Config()) if given[0] == "reader" else plain(*given)
    )
    model = Zipfel("reader").fit(["a boat", "a bike"], [["boat"], ["bike"]])
    assert list(model.method_.texts_) == ["a boat", "a bike"]  # type: ignore[attr-defined]
    assert model.predict((text for text in ["boat boat bike", "bike"]), k=1).names == [["boat"], ["bike"]]
    features = Zipfel("reader").fit(np.eye(2), [["boat"], ["bike"]])
    assert features.method_.texts_ is None  # type: ignore[attr-defined]
