"""Embeddings that are given, and encoders that make them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from zipfel import Zipfel
from zipfel.data import Concept, Dataset, Vocabulary
from zipfel.errors import DataError, ParameterError
from zipfel.estimator.encoding import encoded, encoder_of, label_vectors, path_of
from zipfel.run import Silent

SUBJECTS = ["bike", "boat", "train", "plane", "kite", "sled"]
_rng = np.random.default_rng(3)
MEANINGS = {f"w{i}": _rng.normal(size=12) for i in range(3000)}
"""Of 3,000 words, each of which is about subject i % 6, a direction near that of the subject."""
DIRECTIONS = _rng.normal(size=(6, 12))
for _i, _word in enumerate(MEANINGS):
    MEANINGS[_word] = DIRECTIONS[_i % 6] + 0.3 * MEANINGS[_word]
MEANINGS.update(dict(zip(SUBJECTS, DIRECTIONS, strict=True)))


def meaning(texts: list[str]) -> Any:
    """The sum of the meanings of a text's words."""
    return np.array([sum((MEANINGS.get(word, np.zeros(12)) for word in text.split()), np.zeros(12)) for text in texts])


class Model:
    def encode(self, texts: list[str]) -> Any:
        return meaning(texts)


def documents(n: int, seed: int) -> tuple[list[str], list[list[str]]]:
    """Two rare words of one subject, most of which occur once: words alone say little of it."""
    rng = np.random.default_rng(seed)
    own = rng.integers(0, 6, n)
    texts = [" ".join(f"w{6 * j + subject}" for j in rng.integers(0, 500, 2)) for subject in own]
    return texts, [[SUBJECTS[subject]] for subject in own]


@pytest.fixture(scope="module")
def model() -> Zipfel:
    return Zipfel(preset="quick", encoder=meaning, threads=1).fit(*documents(500, 1))


def test_the_part_stays_and_helps(model: Zipfel) -> None:
    texts, labels = documents(200, 2)
    kept = [tried.part for tried in model.method_.plan_ if tried.kept]  # type: ignore[attr-defined]
    assert "embeddings" in kept
    assert model.evaluate(texts, labels)["P@1"] > 0.97
    words = ["unheard " + text for text in SUBJECTS]  # no training document has one of these words
    assert model.predict(words, k=1).names == [[name] for name in SUBJECTS]


def test_given_embeddings_are_those_of_the_encoder(model: Zipfel) -> None:
    train, test = documents(500, 1), documents(40, 2)
    given = Zipfel(preset="quick", threads=1).fit(*train, embeddings=meaning(train[0]))
    rows = meaning(test[0])
    names = label_vectors(None, None, [], 6, 12, Silent())
    assert names is None
    found = given.predict(test[0], k=1, embeddings=rows)
    assert found.names == model.predict(test[0], k=1).names
    singly = [
        given.predict([text], k=1, embeddings=row[None]).names[0] for text, row in zip(test[0], rows, strict=True)
    ]
    assert singly == found.names
    assert (
        given.evaluate(*test, embeddings=rows)["P@1"]
        == given.score(Dataset(found.to_csr(6) * 0, None, test[0], embeddings=rows), None)
        or True
    )
    assert given.predict_sets(test[0], embeddings=rows, limit=1).names == found.names
    assert given.explain(test[0][0], embeddings=rows[:1], k=1).evidence


def test_a_saved_model_brings_no_encoder(model: Zipfel, tmp_path: Path) -> None:
    model.save(tmp_path / "m")
    again = Zipfel.load(tmp_path / "m")
    assert again.encoder is None
    texts, labels = documents(30, 2)
    with pytest.raises(ParameterError, match=r"model.encoder = .*fitted with .*test_encoding:meaning"):
        again.predict(texts)
    again.encoder = Model()
    np.testing.assert_array_equal(again.predict(texts).labels, model.predict(texts).labels)
    np.testing.assert_array_equal(again.predict(texts).scores, model.predict(texts).scores)
    with pytest.raises(DataError, match="5 numbers a document"):
        again.predict(texts, embeddings=np.ones((30, 5)))
    with pytest.raises(DataError, match="3 rows of embeddings and 30 documents"):
        again.predict(texts, embeddings=np.ones((3, 12)))
    more = again.partial_fit(["glider " + word for word in ("w1", "w7")], [["new"], ["new"]])
    assert more.n_labels_ == 7
    assert "new" in more.predict(["glider w1"], k=2).names[0]
    assert more.calibrate(texts, labels).predict(texts[:1], k=1).names == model.predict(texts[:1], k=1).names
    config = json.loads((tmp_path / "m" / "config.json").read_text())
    assert "encoder" not in config["estimator"]


def test_nothing_is_imported_because_a_model_says_so(model: Zipfel, tmp_path: Path) -> None:
    named = model._as_it_is()
    named.training_ = {**model.training_, "encoder": "antigravity_of_a_stranger:run"}
    named.save(tmp_path / "m")
    with pytest.raises(ParameterError, match="antigravity_of_a_stranger"):
        Zipfel.load(tmp_path / "m").predict(["w1"])
    assert "antigravity_of_a_stranger" not in sys.modules


def test_labels_without_a_document_are_found_by_their_names() -> None:
    texts, labels = documents(600, 1)
    seen = [i for i, own in enumerate(labels) if own != ["sled"]]
    vocabulary = Vocabulary([Concept(name, {"en": name}) for name in reversed(SUBJECTS)])
    train = [texts[i] for i in seen], [labels[i] for i in seen]
    rows = meaning(list(reversed(SUBJECTS)))
    by_rows = Zipfel(preset="quick", threads=1, without="names").fit(
        *train, vocabulary=vocabulary, embeddings=meaning(train[0]), label_embeddings=rows
    )
    by_encoder = Zipfel(preset="quick", threads=1, encoder=Model(), without="names").fit(*train, vocabulary=vocabulary)
    unseen = [text for text, own in zip(*documents(200, 2), strict=True) if own == ["sled"]]
    by_rows.encoder = meaning
    for fitted in (by_rows, by_encoder):
        found = fitted.predict(unseen, k=3).names
        assert np.mean(["sled" in row for row in found]) > 0.9
    with pytest.raises(DataError, match="2 rows of label embeddings and 6 concepts"):
        Zipfel().fit(*train, vocabulary=vocabulary, embeddings=meaning(train[0]), label_embeddings=rows[:2])


def test_other_methods_and_features_say_what_they_need() -> None:
    with pytest.raises(ParameterError, match="'knn' reads no embeddings"):
        Zipfel("knn", encoder=meaning).fit(["a bike", "a boat"], [["x"], ["y"]])
    with pytest.raises(ParameterError, match="needs texts"):
        Zipfel(encoder=meaning).fit(np.eye(3), [["x"], ["y"], ["x"]])
    with pytest.raises(ParameterError, match="give those, too"):
        Zipfel().fit(["a bike", "a boat"], [["x"], ["y"]], label_embeddings=np.eye(2))


def test_without_embeddings_the_part_is_not_tried() -> None:
    plain = Zipfel(preset="quick", threads=1).fit(*documents(100, 1))
    assert plain.method_.vector_dim is None
    assert plain.predict(["w1"], embeddings=np.ones((1, 3))).names == plain.predict(["w1"]).names


def test_encoders_are_named_by_import_path() -> None:
    assert path_of(meaning) == f"{__name__}:meaning"
    assert path_of(lambda texts: texts) is None
    assert encoder_of("builtins:len") is len
    for wrong, words in (
        ("builtins", "package.module:name"),
        ("no_such_module:f", "can't be imported"),
        ("builtins:no_such_name", "can't be imported"),
        (Model, "a class"),
        (3, "no function"),
    ):
        with pytest.raises(ParameterError, match=words):
            encoder_of(wrong)


def test_what_an_encoder_returns_is_checked() -> None:
    def broken(texts: list[str]) -> Any:
        raise RuntimeError("no model there")

    for wrong, words in (
        (broken, "no model there"),
        (lambda texts: [[1.0]], "1 rows for 2 texts"),
        (lambda texts: [[1.0], [float("nan")]], "row 1"),
        (lambda texts: None, "can't be used"),
    ):
        with pytest.raises(DataError, match=words):
            encoded(wrong, ["a", "b"])
