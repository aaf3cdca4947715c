"""Parameters are declared once, with their constraints; flags, docs and validation come from that declaration."""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from zipfel.errors import ParameterError, nearest

C = TypeVar("C", bound="Config")

_META = "zipfel"
_REMOVED_EVERYWHERE = {"ranker": "method auto joins classifiers with neighbours; no other method has them"}


@dataclass(frozen=True)
class Parameter:
    """One declared parameter, as `zipfel methods` and the docs show it."""

    name: str
    kind: str
    default: Any
    help: str
    symbol: str
    low: float | None
    high: float | None
    choices: tuple[str, ...] | None

    @property
    def constraint(self) -> str:
        if self.choices:
            return " | ".join(self.choices)
        low = "" if self.low is None else f">= {self.low:g}"
        high = "" if self.high is None else f"<= {self.high:g}"
        return ", ".join(part for part in (low, high) if part)


def param(
    default: Any,
    help: str,  # noqa: A002 - reads best at the place of declaration
    *,
    symbol: str = "",
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] | None = None,
) -> Any:
    """A declared field of a `Config`: its default, what it does, the paper's symbol for it, and its constraints."""
    meta = {"help": help, "symbol": symbol, "low": low, "high": high, "choices": choices}
    return dataclasses.field(default=default, metadata={_META: meta})


def part(config: type[Config]) -> Any:
    """A field that is itself a Config; its parameters are set as `name.key=value`."""
    return dataclasses.field(default_factory=config, metadata={_META: {"part": config}})


@dataclass(frozen=True)
class Config:
    """Base of every method's declared parameters: frozen, checked when built, unknown keys refused.

    removed: parameters that are no more, by name, with what to use instead; they are refused with these words.
    """

    removed: ClassVar[Mapping[str, str]] = {}

    def __post_init__(self) -> None:
        for parameter in self._own_parameters():
            value = _coerced(parameter, getattr(self, parameter.name))
            object.__setattr__(self, parameter.name, value)
            _check(parameter, value)

    @classmethod
    def _parts(cls) -> dict[str, type[Config]]:
        return {
            f.name: f.metadata[_META]["part"] for f in dataclasses.fields(cls) if "part" in f.metadata.get(_META, {})
        }

    @classmethod
    def _own_parameters(cls) -> list[Parameter]:
        hints = typing.get_type_hints(cls)
        found = []
        for f in dataclasses.fields(cls):
            meta = f.metadata.get(_META)
            if meta is not None and "part" not in meta:
                found.append(Parameter(name=f.name, kind=_kind(hints[f.name]), default=f.default, **meta))
        return found

    @classmethod
    def parameters(cls) -> list[Parameter]:
        """Every declared parameter, those of parts with their dotted names."""
        found = cls._own_parameters()
        for name, config in cls._parts().items():
            found += [dataclasses.replace(p, name=f"{name}.{p.name}") for p in config.parameters()]
        return found

    @classmethod
    def from_dict(cls: type[C], values: Mapping[str, Any]) -> C:
        """Builds from `{"dim": 256, "classifiers.cost": "1"}`; nested dicts work too, text values are parsed."""
        parts, known = cls._parts(), [p.name for p in cls.parameters()]
        own: dict[str, Any] = {}
        nested: dict[str, dict[str, Any]] = {}
        for key, value in _flat(values, parts):
            head, _, tail = key.partition(".")
            if key in parts:
                hint = f"; {cls.removed[key]}" if key in cls.removed else ""
                raise ParameterError(f"{key} has parameters of its own: set {key}.NAME, got {value!r}{hint}")
            removed = {**_REMOVED_EVERYWHERE, **cls.removed}
            if key not in known and (key in removed or (head in removed and head not in parts)):
                raise ParameterError(f"{key} is no longer a parameter: {removed.get(key) or removed[head]}")
            if key not in known:
                raise ParameterError(f"unknown parameter {key!r}{nearest(key, known)}")
            if head in parts:
                nested.setdefault(head, {})[tail] = value
            else:
                own[key] = value
        return cls(**own, **{name: parts[name].from_dict(inner) for name, inner in nested.items()})

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; `from_dict` reads them back."""
        return dataclasses.asdict(self)

    def replace(self: C, **changes: Any) -> C:
        return dataclasses.replace(self, **changes)


def _flat(values: Mapping[str, Any], parts: Mapping[str, type[Config]]) -> Iterator[tuple[str, Any]]:
    """The items, those of a part's own dict with dotted names."""
    for key, value in values.items():
        if key in parts and isinstance(value, Mapping):
            yield from ((f"{key}.{inner}", found) for inner, found in _flat(value, parts[key]._parts()))
        else:
            yield key, value


def _kind(hint: Any) -> str:
    """'int', 'float', 'bool' or 'str', with '?' behind it where None is allowed."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        inner = [a for a in typing.get_args(hint) if a is not type(None)]
        return _kind(inner[0]) + "?"
    return str(hint.__name__)


def _coerced(parameter: Parameter, value: Any) -> Any:
    """Text (from the command line) and near-by types become the declared type; anything else is refused."""
    kind = parameter.kind.removesuffix("?")
    if parameter.kind.endswith("?") and (value is None or value in ("none", "None", "auto", "")):
        return None
    try:
        if kind == "bool":
            return _boolean(value)
        if kind == "int":
            return _integer(value)
        if kind == "float":
            if isinstance(value, bool):
                raise ValueError
            return float(value)
    except (TypeError, ValueError, OverflowError):
        words = {"bool": "true or false", "int": "a whole number", "float": "a number"}[kind]
        raise ParameterError(f"{parameter.name} must be {words}, got {value!r}") from None
    if not isinstance(value, str):
        raise ParameterError(f"{parameter.name} must be text, got {value!r}")
    return value


def _boolean(value: Any) -> bool:
    if isinstance(value, str):
        word = value.lower()
        if word in ("true", "yes", "on", "1"):
            return True
        if word in ("false", "no", "off", "0"):
            return False
        raise ValueError
    if value is True or value is False:
        return bool(value)
    raise ValueError


def _integer(value: Any) -> int:
    if isinstance(value, bool):
        raise ValueError
    if isinstance(value, str):
        return int(value.replace("_", ""))
    if int(value) != value:
        raise ValueError
    return int(value)


def _check(parameter: Parameter, value: Any) -> None:
    if value is None:
        return
    if parameter.choices and value not in parameter.choices:
        raise ParameterError(f"{parameter.name} must be one of {', '.join(parameter.choices)}, got {value!r}")
    if isinstance(value, float) and not math.isfinite(value):
        raise ParameterError(f"{parameter.name} must be a finite number, got {value}")
    if parameter.low is not None and value < parameter.low:
        raise ParameterError(f"{parameter.name} must be at least {parameter.low:g}, got {value!r}")
    if parameter.high is not None and value > parameter.high:
        raise ParameterError(f"{parameter.name} must be at most {parameter.high:g}, got {value!r}")
