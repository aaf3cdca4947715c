"""Every command's help has an example, and the example is a command that exists, with options that exist."""

from __future__ import annotations

import importlib
import re
import shlex
import sys
from typing import Any

import click
import pytest

from tests.docs.pages import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
pytest.importorskip("mkdocs")
docs_hooks: Any = importlib.import_module("docs_hooks")
COMMANDS: dict[str, click.Command] = dict(docs_hooks.commands())


def examples(command: click.Command) -> list[str]:
    told = command.help or ""
    return [found.strip() for found in re.findall(r"^.*?((?:echo .*\| )?zipfel .+)$", told, re.M)]


def is_line(line: str, name: str) -> bool:
    return name in line and not line.endswith(".")


@pytest.mark.parametrize("name", COMMANDS)
def test_has_an_example(name: str) -> None:
    assert any(is_line(line, name) for line in examples(COMMANDS[name])), f"{name} --help has no example"


@pytest.mark.parametrize("name", COMMANDS)
def test_example_has_known_options(name: str) -> None:
    command = COMMANDS[name]
    known = {word for p in command.params for word in (*p.opts, *p.secondary_opts)} | {"--help"}
    for line in examples(command):
        if is_line(line, name):
            words = shlex.split(line.rpartition("| ")[2])
            assert {word for word in words if re.match(r"--?[a-z]", word)} <= known, line


@pytest.mark.parametrize("name", COMMANDS)
def test_every_parameter_is_described(name: str) -> None:
    lacking = [p.name for p in COMMANDS[name].params if not getattr(p, "help", None) and p.name != "help"]
    assert not lacking, f"{name} does not describe {', '.join(map(str, lacking))}"
