"""Every public name has a docstring, an example, and a word on each of its parameters; every example is right."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.docs.pages import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
pytest.importorskip("mkdocs")
docs_hooks: Any = importlib.import_module("docs_hooks")


def members() -> Iterator[tuple[str, Any, str]]:
    """(name, object, docstring of the class that it belongs to) of everything public."""
    for module, name, value in docs_hooks.public_names():
        yield f"{module}.{name}", value, ""
        if inspect.isclass(value) and not issubclass(value, Exception):
            about = inspect.getdoc(value) or ""
            yield from (
                (f"{module}.{name}.{method_name}", method, about)
                for method_name, method in docs_hooks.public_methods(value)
            )


MEMBERS = {name: (value, about) for name, value, about in members()}


def is_exception(value: Any) -> bool:
    return inspect.isclass(value) and issubclass(value, Exception)


def parameters(value: Any) -> list[str]:
    try:
        found = inspect.signature(value.fget if isinstance(value, property) else value).parameters
    except (TypeError, ValueError):
        return []
    return [name for name in found if name not in ("self", "cls", "args", "kwargs")]


@pytest.mark.parametrize("name", MEMBERS)
def test_is_documented(name: str) -> None:
    value, about = MEMBERS[name]
    told = inspect.getdoc(value) or ""
    assert told, f"{name} has no docstring"
    unknown = [p for p in parameters(value) if not re.search(rf"\b{p}\b", told + about)]
    assert not unknown or is_exception(value), f"{name} does not describe {', '.join(unknown)}"


def test_has_an_example() -> None:
    """Properties are shown by the example of their class."""
    lacking = [
        name
        for name, (value, about) in MEMBERS.items()
        if ">>>" not in (inspect.getdoc(value) or "")
        and not (isinstance(value, property) and re.search(rf"\.{name.rpartition('.')[2]}\b", about))
    ]
    assert not lacking


def modules() -> list[str]:
    found = {inspect.unwrap(v.fget if isinstance(v, property) else v).__module__ for v, _ in MEMBERS.values()}
    return sorted({*found, "zipfel.datasets", "zipfel.explanation"})


@pytest.mark.parametrize("name", modules())
def test_examples_are_right(name: str) -> None:
    outcome = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert not outcome.failed
