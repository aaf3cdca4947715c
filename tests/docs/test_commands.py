"""Every command's help has an example, and the example is a command that exists, with options that exist."""

from __future__ import annotations

import importlib
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from tests.docs.pages import ROOT, pages
from zipfel.features.vectorizer import VectorizerConfig
from zipfel.methods import method_class, method_names

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


def mentions(text: str) -> list[str]:
    """Commands of zipfel in a page: in `code` and in blocks."""
    inline = re.findall(r"`(?:[^`\n]*\| )?(zipfel [^`\n]+)`", text)
    fenced = "\n".join(re.findall(r"^```.*?^```", text, re.M | re.S))
    return [*inline, *re.findall(r"^(?:\$ )?(?:[^`\n|]*\| )?(zipfel [a-z][^\n`|]*)$", fenced, re.M)]


def command_of(line: str) -> tuple[str, list[str]]:
    """(full name, the words behind it)."""
    words = re.sub(r"[\[\]]", " ", line.partition("#")[0]).replace("'", "").split()
    for length in (3, 2):
        if " ".join(words[:length]) in COMMANDS:
            return " ".join(words[:length]), words[length:]
    return " ".join(words[:2]), words[2:]


EVERYWHERE = {"-v", "-vv", "--debug", "--trust-data", "--help", "--version", "--install-completion"}


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_of_pages_exist(page: Path) -> None:
    groups = {name.rpartition(" ")[0] for name in COMMANDS if name.count(" ") == 2}
    for line in mentions(page.read_text(encoding="utf-8")):
        name, words = command_of(line)
        options = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
        if name.split()[1].startswith("-") or name in groups:
            continue
        assert name in COMMANDS, f"there is no command {name!r}: {line}"
        known = {word for p in COMMANDS[name].params for word in (*p.opts, *p.secondary_opts)} | EVERYWHERE
        assert {option.rstrip(",.") for option in options} <= known, line


def test_settings_of_pages_exist() -> None:
    known = {p.name for name in method_names() for p in method_class(name).Config.parameters()}
    known |= {f"vectorizer.{p.name}" for p in VectorizerConfig.parameters()}
    for page in pages():
        named = set(re.findall(r"--set ([a-z_.]+)=", page.read_text(encoding="utf-8")))
        assert named <= known, f"{page.name}: {', '.join(named - known)}"
