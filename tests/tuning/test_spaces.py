"""What a search tries."""

from __future__ import annotations

import pytest

from zipfel.errors import ParameterError
from zipfel.methods import method_names
from zipfel.tuning.spaces import SPACES, Choice, Range, _checked, parsed, space_of


def test_every_setting_exists_and_takes_its_whole_range() -> None:
    assert set(SPACES) == set(method_names())
    for method, space in SPACES.items():
        for key, kind in space.items():
            for value in kind.values if isinstance(kind, Choice) else (kind.low, kind.high):
                _checked(key, method, value)


def test_settings_that_are_given_are_not_searched() -> None:
    found = space_of("knn", (), {"n_neighbors": 5}, texts=False)
    assert set(found) == {"sharpness", "rarity"}
    assert "vectorizer.ngrams" in space_of("knn", (), {}, texts=True)


def test_ranges_as_they_are_typed() -> None:
    assert parsed("classifiers.cost=0.1:10", "ova") == ("classifiers.cost", Range(0.1, 10, log=True))
    assert parsed("context=true|false", "auto") == ("context", Choice((True, False)))
    assert parsed("vectorizer.min_df=1:5", "knn") == ("vectorizer.min_df", Range(1, 5, whole=True))


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("n_neigbors=1:5", "did you mean 'n_neighbors'"),
        ("n_neighbors", "KEY=LOW:HIGH"),
        ("n_neighbors=5:1", "must be less"),
        ("n_neighbors=0:5", "at least 1"),
        ("n_neighbors=a:b", "two numbers"),
        ("n_neighbors=1|many", "not of the kind int"),
    ],
)
def test_wrong_ranges(word: str, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        parsed(word, "knn")


def test_nothing_to_search() -> None:
    with pytest.raises(ParameterError, match="nothing to search for method 'popular'"):
        space_of("popular", (), {}, texts=True)
