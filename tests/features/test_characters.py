"""What a word is, against `re` and `str.lower` themselves."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zipfel.features import characters
from zipfel.features.characters import encoded, folding, words

EVERY = [chr(point) for point in range(0x110000)]


def test_the_table_is_lower_case_and_word_characters() -> None:
    fold, plain = folding(True), folding(False)
    expected = np.array([ord(c) if c.isalnum() or c == "_" else 0 for c in EVERY])
    np.testing.assert_array_equal(plain, expected)
    contextual = {c for c in EVERY if len(c.lower()) != 1} | {"Σ"}
    assert contextual == {"İ", "Σ"}  # these texts are lowered before
    lowered = [ord(c.lower()) if c not in contextual else ord("_") for c in EVERY]
    np.testing.assert_array_equal(fold, expected[lowered])


def test_lower_case_twice_is_lower_case() -> None:
    text = "".join(EVERY)
    assert text.lower().lower() == text.lower()


def test_isalnum_is_what_re_means() -> None:
    assert "".join(re.findall(r"\w", "".join(EVERY))) == "".join(c for c in EVERY if c.isalnum() or c == "_")


def test_texts_are_separated() -> None:
    data, ends = encoded(["ab", "", "é"], True)
    assert data.tobytes() == "ab\n\né\n".encode()
    assert ends.tolist() == [3, 4, 7]
    assert encoded([], True)[0].tobytes() == b""


@given(st.text())
def test_words_are_those_of_re(text: str) -> None:
    found = list(words(text, True))
    assert [word.token for word in found] == re.findall(r"(?u)\b\w\w+\b", text.lower())
    assert all(a.end <= b.start for a, b in itertools.pairwise(found))
    for word in found:
        assert word.token in text[word.start : word.end].lower() or "Σ" in text


def test_texts_are_encoded_together_as_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["ab", "", "a\nb", "é ß", "\ud800", "語", "x" * 100, "\n"]
    found = encoded(texts, True)
    monkeypatch.setattr(characters, "_joined", lambda *_: None)
    for mine, theirs in zip(found, encoded(texts, True), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert found[1].dtype == np.int64
