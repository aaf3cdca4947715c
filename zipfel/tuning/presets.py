"""Preset files: settings that a search has found, as JSON that `zipfel fit --preset FILE` takes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zipfel.errors import ParameterError
from zipfel.features import VectorizerConfig
from zipfel.methods import make_method

KIND, VERSION = "zipfel-preset", 1
_MOST_BYTES = 1 << 20


@dataclass(frozen=True)
class Settings:
    """Of an estimator: `Zipfel(settings.method, preset=settings.preset, vectorizer=..., **settings.params)`."""

    method: str
    preset: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    vectorizer: Mapping[str, Any] = field(default_factory=dict)


def write_settings(path: str | Path, settings: Settings, found: Mapping[str, Any]) -> None:
    """found: how good they were, for readers of the file."""
    value = {"kind": KIND, "version": VERSION, **vars(settings), "found": dict(found)}
    Path(path).write_text(json.dumps(value, indent=1, default=dict) + "\n", encoding="utf-8")


def read_settings(path: str | Path) -> Settings:
    """The settings of a preset file, checked."""
    path = Path(path)
    if path.stat().st_size > _MOST_BYTES:
        raise ParameterError(f"{path} is too large for a preset file")
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ParameterError(f"{path} is no preset file: {error}") from None
    if not isinstance(value, dict) or value.get("kind") != KIND:
        raise ParameterError(f"{path} is no preset file of `zipfel tune`")
    if value.get("version") != VERSION:
        raise ParameterError(f"{path} has version {value.get('version')!r}; this zipfel reads {VERSION}")
    params, vectorizer = value.get("params", {}), value.get("vectorizer", {})
    method, preset = value.get("method"), value.get("preset")
    if not (isinstance(params, dict) and isinstance(vectorizer, dict) and isinstance(method, str)):
        raise ParameterError(f"{path} is damaged: it needs a method, params and vectorizer")
    try:
        make_method(method, params, preset)
        VectorizerConfig.from_dict(vectorizer)
    except ParameterError as error:
        raise ParameterError(f"{path}: {error}") from None
    return Settings(method, preset, params, vectorizer)
