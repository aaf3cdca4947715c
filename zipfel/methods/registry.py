"""Method ids and where they live; a method's module is imported only when it is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from zipfel.errors import MissingExtraError, ParameterError, nearest
from zipfel.methods.base import Method

_METHODS = {
    "popular": "zipfel.methods.popular:Popular",
    "knn": "zipfel.methods.knn:Knn",
    "centroid": "zipfel.methods.centroid:Centroid",
    "auto": "zipfel.methods.auto:Auto",
    "ova": "zipfel.methods.ova:Ova",
    "lightdxml": "zipfel.methods.lightdxml:LightDXML",
    "astec": "zipfel.methods.astec:Astec",
    "mnn": "zipfel.methods.mnn:Mnn",
    "glas": "zipfel.methods.glas:Glas",
    "dxml": "zipfel.methods.dxml:Dxml",
    "rankae": "zipfel.methods.rankae:RankAe",
    "sleec": "zipfel.methods.sleec:Sleec",
}
_OF_PAPERS = ("torch", "faiss")
"""Packages of the extra `papers`."""


def method_names() -> list[str]:
    return list(_METHODS)


def methods_with(verb: str) -> list[str]:
    """The methods that have it beyond the contract, such as `partial_fit` or `explain`; imports them all."""
    return [name for name in installed_methods() if hasattr(method_class(name), verb)]


def method_class(name: str) -> type[Method]:
    if name not in _METHODS:
        raise ParameterError(f"unknown method {name!r}{nearest(name, _METHODS)}")
    module, _, attribute = _METHODS[name].partition(":")
    try:
        found: type[Method] = getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as error:
        if error.name not in _OF_PAPERS:
            raise
        raise MissingExtraError(str(error.name), "papers", f"method {name}") from None
    return found


def installed_methods() -> list[str]:
    """The methods whose packages are here."""
    found = []
    for name in _METHODS:
        with suppress(MissingExtraError):
            found.append(method_class(name).name)
    return found


def make_method(name: str, params: Mapping[str, Any] | None = None, preset: str | None = None) -> Method:
    """An unfitted method with its preset's parameters, overridden by `params`."""
    cls = method_class(name)
    values: dict[str, Any] = {}
    if preset is not None:
        if preset not in cls.presets:
            raise ParameterError(f"method {name!r} has no preset {preset!r}{nearest(preset, cls.presets)}")
        values.update(cls.presets[preset])
    values.update(params or {})
    return cls(cls.Config.from_dict(values))
