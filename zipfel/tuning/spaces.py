"""What a search tries: the settings of each method that matter, and their ranges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from zipfel.config import Parameter
from zipfel.errors import ParameterError, nearest
from zipfel.features import VectorizerConfig
from zipfel.methods import method_class

Value = float | int | str | bool
VECTORIZER = "vectorizer."


@dataclass(frozen=True)
class Range:
    """Numbers from low to high; by their logarithm where they span more than a factor of ten, or `log` says so."""

    low: float
    high: float
    whole: bool = False
    log: bool = False


@dataclass(frozen=True)
class Choice:
    """One of these."""

    values: tuple[Value, ...]


Space = Mapping[str, Range | Choice]

_COST = Range(0.05, 10, log=True)
_NEIGHBOURS = Range(5, 300, whole=True, log=True)
_RATE, _DROPOUT, _KEEP = Range(0.0005, 0.02, log=True), Range(0.0, 0.7), Range(0.4, 1.0)
_DIM = Choice((100, 200, 300, 500))
_TEXTS: Space = {"vectorizer.ngrams": Choice((1, 2))}
SPACES: Mapping[str, Space] = {
    "auto": {
        "neighbors": Range(30, 300, whole=True, log=True),
        "damping": Range(0.4, 1.0),
        "tail": Range(0.0, 0.6),
        "classifiers.cost": Range(0.1, 3, log=True),
        "classifiers.shortlist": Range(20, 150, whole=True, log=True),
        **_TEXTS,
    },
    "knn": {"n_neighbors": _NEIGHBOURS, "sharpness": Range(0.0, 8.0), "rarity": Range(0.0, 1.0), **_TEXTS},
    "centroid": {"width": Range(50, 5000, whole=True, log=True), **_TEXTS},
    "ova": {
        "classifiers.cost": _COST,
        "classifiers.damping": Range(0.4, 1.0),
        "classifiers.positive_cost": Range(0.5, 4, log=True),
        "shortlist": Range(50, 500, whole=True, log=True),
        **_TEXTS,
    },
    "lightdxml": {"lr": _RATE, "dropout": _DROPOUT, "keep": _KEEP, "dim": _DIM, "beta": Range(0.0, 1.0)},
    "astec": {"lr": _RATE, "dropout": _DROPOUT, "dim": _DIM, "beta": Range(0.0, 1.0)},
    "glas": {"lr": _RATE, "weight": Range(0.1, 100, log=True), "keep": _KEEP, "dim": _DIM, "dropout": _DROPOUT},
    "mnn": {"lr": _RATE, "margin": Range(0.0, 0.5), "dim": _DIM, "keep": _KEEP},
    "dxml": {"lr": Range(0.001, 0.05, log=True), "dropout": _DROPOUT, "dim": _DIM, "window": Choice((2, 5, 10))},
    "rankae": {"lr": _RATE, "balance": Range(0.01, 2, log=True), "dim": _DIM, "word_dim": _DIM, "keep": _KEEP},
    "sleec": {
        "dim": Choice((50, 100, 200)),
        "near": Range(5, 50, whole=True, log=True),
        "ridge": Range(0.01, 10, log=True),
        "learners": Range(1, 10, whole=True),
    },
    "popular": {},
}
"""By method; `--over` replaces them. A test holds that all of these settings exist."""


def space_of(method: str, over: Sequence[str], fixed: Mapping[str, Any], *, texts: bool) -> Space:
    """What is searched: the ranges of `over`, each KEY=LOW:HIGH or KEY=A|B|C, else the method's own; without what is
    fixed. texts: whether the data are texts, which the vectoriser's settings are for."""
    space = dict(parsed(word, method) for word in over) if over else dict(SPACES.get(method, {}))
    found = {key: kind for key, kind in space.items() if key not in fixed}
    found = {key: kind for key, kind in found.items() if texts or not key.startswith(VECTORIZER)}
    if not found:
        raise ParameterError(
            f"there is nothing to search for method {method!r}: name settings with --over KEY=LOW:HIGH"
        )
    return found


def parsed(word: str, method: str) -> tuple[str, Range | Choice]:
    """One setting and its range, as it is typed.

    >>> parsed("n_neighbors=5:200", "knn")
    ('n_neighbors', Range(low=5.0, high=200.0, whole=True, log=True))
    >>> parsed("precision=float32|float16", "knn")
    ('precision', Choice(values=('float32', 'float16')))
    """
    key, equals, values = word.partition("=")
    parameter = _parameter(key, method)
    if not equals or not values:
        raise ParameterError(f"--over takes KEY=LOW:HIGH or KEY=A|B|C, got {word!r}")
    if ":" not in values:
        return key, Choice(tuple(_value(parameter, part) for part in values.split("|")))
    try:
        low, high = (float(part) for part in values.split(":"))
    except ValueError:
        raise ParameterError(f"--over {key}=LOW:HIGH takes two numbers, got {values!r}") from None
    if not low < high:
        raise ParameterError(f"--over {key}: {low:g} must be less than {high:g}")
    for bound in (low, high):
        _checked(key, method, bound)
    return key, Range(low, high, whole=parameter.kind.startswith("int"), log=low > 0 and high / low > 10)


def _parameter(key: str, method: str) -> Parameter:
    of = VectorizerConfig if key.startswith(VECTORIZER) else method_class(method).Config
    known = {p.name: p for p in of.parameters()}
    name = key.removeprefix(VECTORIZER)
    if name not in known:
        raise ParameterError(f"method {method!r} has no parameter {key!r}{nearest(name, known)}")
    return known[name]


def _checked(key: str, method: str, value: Any) -> None:
    """Raises where the parameter does not take this value."""
    of = VectorizerConfig if key.startswith(VECTORIZER) else method_class(method).Config
    whole = _parameter(key, method).kind.startswith("int")
    of.from_dict({key.removeprefix(VECTORIZER): int(value) if whole else value})


def _value(parameter: Parameter, word: str) -> Value:
    kind = parameter.kind.removesuffix("?")
    try:
        if kind == "bool":
            return {"true": True, "false": False}[word.lower()]
        return int(word) if kind == "int" else float(word) if kind == "float" else word
    except (KeyError, ValueError):
        raise ParameterError(f"--over {parameter.name}: {word!r} is not of the kind {kind}") from None
