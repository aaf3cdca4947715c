"""No public name without a docstring, no parameter undescribed, no command without an example."""

from __future__ import annotations

import importlib.util
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytest.importorskip("mkdocs")
spec = importlib.util.spec_from_file_location("docs_hooks", ROOT / "scripts" / "docs_hooks.py")
assert spec is not None
assert spec.loader is not None
hooks = importlib.util.module_from_spec(spec)
spec.loader.exec_module(hooks)

NAMES = [(f"{module}.{name}", value) for module, name, value in hooks.public_names()]
METHODS = [
    (f"{full}.{name}", value, cls)
    for full, cls in NAMES
    if inspect.isclass(cls) and not issubclass(cls, Exception)
    for name, value in hooks.public_methods(cls)
]
COMMANDS = list(hooks.commands())


@pytest.mark.parametrize(("name", "value"), NAMES, ids=[name for name, _ in NAMES])
def test_public_names_are_documented(name: str, value: Any) -> None:
    told = inspect.getdoc(value)
    assert told, f"{name} has no docstring"
    if inspect.isfunction(value):
        undescribed = [p for p in inspect.signature(value).parameters if not re.search(rf"\b{p}\b", told)]
        assert not undescribed, f"{name} says nothing of {undescribed}"


@pytest.mark.parametrize(("name", "value", "cls"), METHODS, ids=[name for name, _, _ in METHODS])
def test_public_methods_are_documented(name: str, value: Any, cls: Any) -> None:
    told = inspect.getdoc(value)
    assert told, f"{name} has no docstring"


@pytest.mark.parametrize(("name", "command"), COMMANDS, ids=[name for name, _ in COMMANDS])
def test_commands_have_an_example_and_described_options(name: str, command: Any) -> None:
    assert f"{name} " in (command.help or "") or f"{name}\n" in (command.help or "") + "\n", f"{name} has no example"
    undescribed = [p.name for p in command.params if not getattr(p, "help", None)]
    assert not undescribed, f"{name} says nothing of {undescribed}"


def test_reference_pages_name_everything() -> None:
    page = hooks.python_page()
    assert all(f"## {name}\n" in page for name, _ in NAMES)
    commands = hooks.cli_page()
    assert all(f"## {name}\n" in commands for name, _ in COMMANDS)
    assert "## auto\n" in hooks.methods_page()
