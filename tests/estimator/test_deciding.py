"""Sets of labels of a fitted model, their metrics, and calibration on other data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from zipfel.classifier import Zipfel
from zipfel.errors import ParameterError

WORDS = ["bike", "boat", "train", "plane"]


def documents(n: int, seed: int, noise: float = 0.2) -> tuple[list[str], list[list[str]]]:
    """Texts with words of their labels; with noise, some labels are others."""
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for _ in range(n):
        own = sorted(set(rng.choice(WORDS, rng.integers(1, 3)).tolist()))
        texts.append(" ".join(["a", *own, "there", str(rng.integers(100))]))
        labels.append([str(rng.choice(WORDS)) if rng.random() < noise else word for word in own])
    return texts, labels


@pytest.fixture(scope="module")
def model() -> Zipfel:
    return Zipfel("knn", threads=1).fit(*documents(400, 1))


def test_sets_and_their_metrics(model: Zipfel) -> None:
    texts, labels = documents(200, 2)
    sets = model.predict_sets(texts)
    assert len({len(row) for row in sets.names}) > 1
    found = model.evaluate(texts, labels, threshold="auto", ks=(1, 2))
    assert found["micro-F1@t"] > found["micro-F1@2"]
    assert found["micro-F1@t"] == pytest.approx(
        2
        * sum(len(set(a) & set(b)) for a, b in zip(sets.names, labels, strict=True))
        / sum(len(a) + len(set(b)) for a, b in zip(sets.names, labels, strict=True))
    )
    assert all(score >= 0.9 for row in model.predict_sets(texts, threshold=0.9) for _, score in row)
    assert max(len(row) for row in model.predict_sets(texts, threshold=0.0, limit=2).names) == 2
    assert min(len(row) for row in model.predict_sets(["zzz"], threshold="auto:document").names) == 1


def test_sets_by_a_metric(model: Zipfel) -> None:
    texts, _ = documents(50, 3)
    assert {len(row) for row in model.predict_sets(texts, optimise="precision", limit=2).names} == {2}
    for together in (False, True):
        assert model.predict_sets(texts, optimise="macro-f1", limit=2, together=together).k <= 2


def test_options_that_contradict_each_other(model: Zipfel) -> None:
    with pytest.raises(ParameterError, match="one of them"):
        model.predict_sets(["a"], threshold=0.5, optimise="psp")
    with pytest.raises(ParameterError, match="name it with optimise"):
        model.predict_sets(["a"], together=True)
    with pytest.raises(ParameterError, match="limit must be"):
        model.predict_sets(["a"], limit=0)


def test_probabilities_as_a_matrix(model: Zipfel) -> None:
    found = model.predict_proba(["a bike", "a boat"])
    assert found.shape == (2, 4)
    ranking = model.predict(["a bike", "a boat"], k=4)
    np.testing.assert_array_equal(found.toarray()[0, ranking.labels[0]], ranking.scores[0])


def test_calibration_on_other_data(model: Zipfel, tmp_path: Path) -> None:
    texts, labels = documents(400, 4, noise=0.8)  # here the labels are mostly others
    before = model.evaluate(texts, labels, ks=(1,))
    model.save(tmp_path / "m")
    again = Zipfel.load(tmp_path / "m")
    assert again.thresholds_ == model.thresholds_
    again.calibrate(texts, labels)
    after = again.evaluate(*documents(400, 5, noise=0.8), ks=(1,))
    assert after["ECE@1"] < before["ECE@1"] / 2
    np.testing.assert_array_equal(again.predict(texts, k=3).labels, model.predict(texts, k=3).labels)
    again.save(tmp_path / "m2")
    np.testing.assert_array_equal(
        Zipfel.load(tmp_path / "m2").predict(texts, k=3).scores, again.predict(texts, k=3).scores
    )
