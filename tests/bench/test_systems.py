from __future__ import annotations

import sys

import pytest

from zipfel.bench.systems import FAMILIES, environment_of, our_methods, parse_method, present_peers
from zipfel.errors import ParameterError


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("knn", ("knn", None, {})),
        ("auto:quick", ("auto", "quick", {})),
        ("knn[n_neighbors=50;sharpness=8]", ("knn", None, {"n_neighbors": "50", "sharpness": "8"})),
        ("auto:quick[ranker.enabled=false]", ("auto", "quick", {"ranker.enabled": "false"})),
    ],
)
def test_method_words(word: str, parts: tuple[object, ...]) -> None:
    assert parse_method(word) == parts


@pytest.mark.parametrize("word", ["knn[", "knn[n_neighbors]", "", "a b", "knn]x["])
def test_method_words_that_are_none(word: str) -> None:
    with pytest.raises(ParameterError):
        parse_method(word)


def test_wrong_methods_and_settings_are_told_before_anything_runs() -> None:
    assert [c.name for c in our_methods(["knn[n_neighbors=3]", "popular"])] == ["knn[n_neighbors=3]", "popular"]
    for word, hint in (("knnn", "knn"), ("knn[neighbors=3]", "n_neighbors"), ("knn:nope", "no preset")):
        with pytest.raises(ParameterError, match=hint):
            our_methods([word])


def test_absent_peers_are_skipped_with_a_hint() -> None:
    said: list[str] = []
    found = present_peers(["pecos", "sklearn-ovr"], {"pecos": "/no/such/python"}, said.append)
    assert [c.name for c in found] == ["sklearn-ovr"]
    assert found[0].command[0] == sys.executable
    assert len(said) == 1
    assert "pecos-xrlinear is skipped" in said[0]
    assert "--peer-python pecos=PATH" in said[0]
    assert "ZIPFEL_PEER_PECOS" in said[0]


def test_the_variable_names_a_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZIPFEL_PEER_SKLEARN_OVR", "/no/such/python")
    said: list[str] = []
    assert present_peers(["sklearn-ovr"], {}, said.append) == []
    assert "/no/such/python" in said[0]


def test_unknown_peers_are_errors() -> None:
    for words, pythons in ((["omikuji-bonsais"], {}), ([], {"pekos": "python"})):
        with pytest.raises(ParameterError, match="did you mean"):
            present_peers(words, pythons, print)


def test_every_family_member_is_a_peer() -> None:
    from zipfel.bench.peers import PEERS

    assert sorted(name for members in FAMILIES.values() for name in members) == sorted(PEERS)


def test_a_foreign_python_does_not_see_our_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/ours")
    assert "PYTHONPATH" not in environment_of("/another/python")
    assert environment_of(sys.executable)["PYTHONPATH"].endswith("/ours")
