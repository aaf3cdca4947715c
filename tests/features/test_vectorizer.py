"""Vectorizer: numbers worked out by hand, scikit-learn's values, streams, threads and the JSON state."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from zipfel.errors import DataError, ModelFileError, NotFittedError, ParameterError
from zipfel.features import Vectorizer, VectorizerConfig, vectorizer
from zipfel.system.threads import use_threads

TEXTS = [
    "The cat sat on the mat; the mat was flat.",
    "A DOG sat on the log, THE DOG!",
    "",
    "Die Straße nach İstanbul führt über Ὀδυσσεύς ΟΔΥΣΣΕΥΣ Ⱥpfel x² _under_score ١٢٣ 日本語 don't",
    "the cat and the dog and the cat",
    "a b c ! ?",
]
CONFIGS: list[dict[str, Any]] = [
    {},
    {"ngrams": 2},
    {"ngrams": 4, "sublinear": True},
    {"ngrams": 3, "max_df": 0.5},
    {"min_df": 2},
    {"min_df": 2, "max_df": 0.5, "ngrams": 2},
    {"lowercase": False, "ngrams": 2},
]


def vectorizer_of(**params: Any) -> Vectorizer:
    """With scikit-learn's defaults."""
    return Vectorizer(VectorizerConfig.from_dict({"min_df": 1, "sublinear": False, **params}))


def sklearn_of(ngrams: int = 1, sublinear: bool = False, **params: Any) -> TfidfVectorizer:
    return TfidfVectorizer(ngram_range=(1, ngrams), sublinear_tf=sublinear, **params)


def assert_same_rows(X: sp.csr_matrix, Z: sp.csr_matrix) -> None:
    """Z is scikit-learn's, in float64."""
    Z.sort_indices()
    assert X.shape == Z.shape
    assert X.dtype == np.float32
    np.testing.assert_array_equal(X.indptr, Z.indptr)
    np.testing.assert_array_equal(X.indices, Z.indices)
    np.testing.assert_allclose(X.data, Z.data, rtol=2e-7)


def test_values_worked_out_by_hand() -> None:
    X = vectorizer_of().fit_transform(["red red fish", "blue fish"])
    rare, common = math.log(3 / 2) + 1, math.log(3 / 3) + 1
    first, second = math.hypot(common, 2 * rare), math.hypot(rare, common)
    expected = [[0, common / first, 2 * rare / first], [rare / second, common / second, 0]]  # blue, fish, red
    np.testing.assert_allclose(X.toarray(), expected, rtol=1e-6)


def test_sublinear_worked_out_by_hand() -> None:
    X = vectorizer_of(sublinear=True).fit_transform(["red red red fish"])
    red = 1 + math.log(3)  # both idf are 1
    np.testing.assert_allclose(X.toarray(), [[1 / math.hypot(1, red), red / math.hypot(1, red)]], rtol=1e-6)


@pytest.mark.parametrize("params", CONFIGS, ids=str)
def test_equal_to_sklearn(params: dict[str, Any]) -> None:
    ours, theirs = vectorizer_of(**params), sklearn_of(**params)
    assert_same_rows(ours.fit_transform(TEXTS), theirs.fit_transform(TEXTS))
    assert ours.feature_names == list(theirs.get_feature_names_out())
    new = ["the unknown cat sat on the unknown mat", "", "Sat THE dog", "flat on the log"]
    assert_same_rows(ours.transform(new), theirs.transform(new))


letters = st.text(alphabet="aAbBßİ\u0131Σ\u03c3\u03c2éÉ日1٣_²·\u0307 .-\n\t", max_size=40)


@settings(max_examples=60, deadline=None)
@given(
    texts=st.lists(st.one_of(letters, st.text(max_size=30)), min_size=1, max_size=8),
    params=st.sampled_from(CONFIGS),
    threads=st.sampled_from([1, 3]),
)
def test_equal_to_sklearn_on_any_text(texts: list[str], params: dict[str, Any], threads: int) -> None:
    ours, theirs = vectorizer_of(**params), sklearn_of(**params)
    try:
        Z = theirs.fit_transform(texts)
    except ValueError:  # no word is left
        with pytest.raises(DataError):
            ours.fit_transform(texts)
        return
    with use_threads(threads):
        assert_same_rows(ours.fit_transform(texts), Z)
    assert ours.feature_names == list(theirs.get_feature_names_out())


def test_max_features_keeps_the_most_frequent_and_ties_by_word() -> None:
    assert vectorizer_of(max_features=3).fit(["dd dd cc bb aa", "dd cc"]).feature_names == ["aa", "cc", "dd"]


def test_a_small_collection_keeps_words_that_occur_once(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["red fish", "blue fish", "red"]
    assert Vectorizer().fit(texts).feature_names == ["blue", "fish", "red"]
    monkeypatch.setattr(vectorizer, "_SMALL", 3)
    assert Vectorizer().fit(texts).feature_names == ["fish", "red"]
    assert vectorizer_of(min_df=1).fit(texts).feature_names == ["blue", "fish", "red"]


def test_unknown_words_and_empty_texts() -> None:
    X = vectorizer_of().fit(["some words here"]).transform(["nothing known", "", "words only", "!"])
    assert X.shape == (4, 3)
    assert np.diff(X.indptr).tolist() == [0, 0, 1, 0]
    assert X.data.tolist() == [1.0]
    assert vectorizer_of().fit(["some words"]).transform([]).shape == (0, 2)


def test_an_ngram_is_found_though_its_parts_are_no_features() -> None:
    vectorizer = vectorizer_of(ngrams=3, max_features=1).fit(["one two three", "one two three two three"])
    assert vectorizer.feature_names == ["three"]
    state = {**vectorizer.to_json(), "words": ["one two three"], "df": [2]}
    assert Vectorizer.from_json(state).transform(["say one two three", "one two four three"]).toarray().tolist() == [
        [1],
        [0],
    ]


def many_texts() -> list[str]:
    rng = np.random.default_rng(7)
    words = np.array([f"w{int(i)}" + "é" * (int(i) % 5 == 0) for i in rng.zipf(1.3, 20_000) % 5_000])
    return [" ".join(part) for part in np.split(words, np.sort(rng.integers(0, len(words), 700)))]


@pytest.mark.parametrize("ngrams", [1, 2])
def test_chunks_threads_and_streams_do_not_change_the_result(ngrams: int, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = many_texts()
    with use_threads(1):
        whole = vectorizer_of(ngrams=ngrams)
        X = whole.fit_transform(texts)
    monkeypatch.setattr(vectorizer, "_CHUNK", 1_000)
    for threads in (1, 2, 5):
        with use_threads(threads):
            pieces = vectorizer_of(ngrams=ngrams)
            assert_identical(pieces.fit_transform(iter(texts)), X)
            assert pieces.to_json() == whole.to_json()
            assert vectorizer_of(ngrams=ngrams).fit(iter(texts)).to_json() == whole.to_json()
            assert_identical(pieces.transform(iter(texts)), X)
            parts = list(pieces.transform_chunks(iter(texts)))
            assert len(parts) > 10
            assert_identical(sp.vstack(parts, format="csr"), X)


def assert_identical(X: sp.csr_matrix, Z: sp.csr_matrix) -> None:
    assert X.shape == Z.shape
    for name in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(X, name), getattr(Z, name))


def test_only_a_few_chunks_are_read_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectorizer, "_CHUNK", 10)
    read = 0

    def texts() -> Iterator[str]:
        nonlocal read
        for _ in range(1000):
            read += 1
            yield "ten letters"

    known = vectorizer_of().fit(["ten letters"])
    with use_threads(2):
        rows = known.transform_chunks(texts())
        next(rows)
        assert read < 20
        assert sum(part.shape[0] for part in rows) == 999


def test_tokens_stand_where_they_say() -> None:
    text = "İİ İstanbul, 日本語 and x THE Straße"
    tokens = vectorizer_of().tokens(text)
    assert [token.token for token in tokens] == ["stanbul", "日本語", "and", "the", "straße"]
    assert [text[token.start : token.end] for token in tokens] == ["stanbul", "日本語", "and", "THE", "Straße"]
    assert vectorizer_of(ngrams=2).tokens("Red  fish") == [("red", 0, 3), ("fish", 5, 9), ("red fish", 0, 9)]


@pytest.mark.parametrize("params", CONFIGS, ids=str)
def test_json_round_trip(params: dict[str, Any]) -> None:
    fitted = vectorizer_of(**params)
    X = fitted.fit_transform(TEXTS)
    state = json.loads(json.dumps(fitted.to_json()))
    again = Vectorizer.from_json(state)
    assert again.config == fitted.config
    assert again.vocabulary == fitted.vocabulary
    assert_identical(again.transform(TEXTS), X)


STATE: dict[str, Any] = {"config": {"ngrams": 2}, "n_points": 3, "words": ["aa", "aa bb", "bb"], "df": [1, 1, 2]}


@pytest.mark.parametrize(
    "change",
    [
        {"config": None},
        {"config": {"ngrams": 0}},
        {"config": {"ngrams": [1]}},
        {"config": {"min_df": math.inf}},
        {"config": {"nonsense": 1}},
        {"config": {"ngrams": 1}},  # but there is a pair
        {"n_points": 0},
        {"n_points": True},
        {"n_points": "3"},
        {"n_points": 2**70},
        {"words": "aabb"},
        {"words": ["aa", "bb"]},
        {"words": ["aa", "aa", "bb"]},
        {"words": ["aa", "aa  bb", "bb"]},
        {"words": ["aa", "aa b", "bb"]},
        {"words": ["aa", "aa-bb", "bb"]},
        {"words": ["aa", "ab\n", "bb"]},
        {"words": ["aa", 3, "bb"]},
        {"words": ["Aa", "aa", "bb"]},
        {"words": ["aa", "bb", "İİ"]},
        {"words": [], "df": []},
        {"df": [1, 1, 4]},
        {"df": [1, 1, 0]},
        {"df": [1, 1, 2.0]},
        {"df": [1, 1, True]},
        {"df": None},
    ],
    ids=str,
)
def test_a_damaged_state_is_refused(change: dict[str, Any]) -> None:
    Vectorizer.from_json(copy.deepcopy(STATE))
    with pytest.raises(ModelFileError):
        Vectorizer.from_json({**copy.deepcopy(STATE), **change})


@pytest.mark.parametrize("state", [None, [], "x", 3, {}])
def test_what_is_no_state_is_refused(state: Any) -> None:
    with pytest.raises(ModelFileError):
        Vectorizer.from_json(state)


def test_wrong_use_is_told_in_words() -> None:
    with pytest.raises(NotFittedError):
        vectorizer_of().transform(["text"])
    with pytest.raises(DataError, match="one text"):
        vectorizer_of().fit("one text")
    with pytest.raises(DataError, match="must be str, got NoneType"):
        vectorizer_of().fit(["one text", None])  # type: ignore[list-item]
    with pytest.raises(DataError, match="no word"):
        vectorizer_of().fit([])
    with pytest.raises(DataError, match="no word"):
        vectorizer_of().fit(["", "a b"])
    with pytest.raises(ParameterError, match="ngrams"):
        vectorizer_of(ngrams=0)


def test_half_a_surrogate_pair_is_no_letter() -> None:
    assert vectorizer_of().fit(["ab\ud800cd"]).feature_names == ["ab", "cd"]


def test_only_the_weightiest_words_are_learnt_from() -> None:
    texts = ["red red bike", "red boat sail", "a sail"] * 400
    whole, part = Vectorizer(), Vectorizer(VectorizerConfig(max_words=1))
    full, few = whole.fit_transform(texts), part.fit_transform(iter(texts))
    assert part.feature_names == whole.feature_names
    assert few.getnnz(axis=1).tolist() == [1, 1, 1] * 400
    assert few.toarray().max(axis=1).tolist() == full.toarray().max(axis=1).tolist()
    assert (part.transform(texts[:3]) != full[:3]).nnz == 0


def test_words_of_later_texts_stand_behind_the_others() -> None:
    made = Vectorizer().fit(["red bike", "red boat"])
    before = made.transform(["red boat", "bike"])
    assert made.extend(["amber boat", "zebra amber"]) == 2
    assert made.feature_names == ["bike", "boat", "red", "amber", "zebra"]
    after = made.transform(["red boat", "bike"])
    assert (after[:, :3] != before).nnz == 0
    assert made.transform(["zebra"]).indices.tolist() == [4]
    again = Vectorizer.from_json(json.loads(json.dumps(made.to_json())))
    assert (again.transform(["amber zebra bike"]) != made.transform(["amber zebra bike"])).nnz == 0
    assert made.extend(["red", "bike amber"]) == 0
    assert made.extend([""]) == 0
    assert Vectorizer(VectorizerConfig(max_features=2)).fit(["red bike boat"]).extend(["zebra"]) == 0
