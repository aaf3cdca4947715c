"""Labels are found by their names, also those without a training document."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from zipfel.classifier import Zipfel
from zipfel.data import Concept, Vocabulary
from zipfel.methods.auto import Auto

WORDS = ["harbour", "bicycle", "tractor", "aeroplane", "lighthouse", "submarine", "windmill", "canal"]
UNSEEN = {"windmill", "canal"}


def documents(n: int, seed: int, of: list[str]) -> tuple[list[str], list[list[str]]]:
    """Texts that name their subject among other words, and mention others in passing."""
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for _ in range(n):
        own = str(rng.choice(of))
        others = rng.choice(["old", "new", "big", "small", "report", "picture", "story"], 4)
        texts.append(f"The {others[0]} {own}s: a {others[1]} {others[2]} of {rng.integers(1000)} {others[3]}")
        labels.append([f"x:{own}"])
    return texts, labels


@pytest.fixture(scope="module")
def model() -> Zipfel:
    concepts = Vocabulary([Concept(f"x:{word}", {"en": word.title()}) for word in WORDS])
    seen = [word for word in WORDS if word not in UNSEEN]
    texts, labels = documents(500, 1, seen)
    return Zipfel(threads=1, keep_all=True).fit(texts, labels, vocabulary=concepts)


def test_labels_without_a_training_document_are_found(model: Zipfel) -> None:
    assert isinstance(model.method_, Auto)
    assert model.method_.ensemble_.part("names") is not None
    texts, labels = documents(40, 2, sorted(UNSEEN))
    ranked = model.predict(texts, k=3).names
    assert np.mean([label in row for row, (label,) in zip(ranked, labels, strict=True)]) > 0.9


def test_the_others_lose_nothing(model: Zipfel) -> None:
    texts, labels = documents(100, 3, [word for word in WORDS if word not in UNSEEN])
    assert model.evaluate(texts, labels, ks=(1,))["P@1"] > 0.98


def test_it_is_kept_and_explained(model: Zipfel, tmp_path: Path) -> None:
    texts, _ = documents(10, 4, WORDS)
    model.save(tmp_path / "m")
    again = Zipfel.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict(texts, k=3).labels, model.predict(texts, k=3).labels)
    np.testing.assert_allclose(again.predict(texts, k=3).scores, model.predict(texts, k=3).scores, rtol=1e-6)
    (found,) = {next(iter(row))[0] for row in again.predict(["The canals: a picture"], k=1)}
    told = again.explain("The canals: a picture", [found])
    assert "name" in told.evidence[found]


def test_where_rows_have_no_texts_there_is_no_such_part() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.random((60, 5)), [[WORDS[i % 4]] for i in range(60)]
    found = Zipfel(threads=1).fit(X, y)
    assert isinstance(found.method_, Auto)
    assert "names" not in {tried.part for tried in found.method_.plan_ if tried.tried}


def test_documents_of_an_unseen_label_may_come_later(model: Zipfel, tmp_path: Path) -> None:
    model.save(tmp_path / "m")
    grown = Zipfel.load(tmp_path / "m")
    grown.partial_fit(["The zeppelins: a story", "The canals: a story"], [["zeppelin"], ["x:canal"]])
    assert "zeppelin" in (grown.label_names_ or [])
    assert "x:canal" in grown.predict(["The canals: a story"], k=2).names[0]
    grown.save(tmp_path / "m2")
    texts, _ = documents(5, 5, WORDS)
    np.testing.assert_array_equal(
        Zipfel.load(tmp_path / "m2").predict(texts, k=3).labels, grown.predict(texts, k=3).labels
    )
