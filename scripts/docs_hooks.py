"""mkdocs hooks: the reference pages are made from the code, so that they can't be out of date."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator, Sequence
from typing import Any

import click
from docs_tables import cell, filled
from mkdocs.structure.files import File, Files

PUBLIC = ("zipfel", "zipfel.data", "zipfel.metrics", "zipfel.report", "zipfel.errors")
"""Modules whose public names the Python reference has."""
FIRST = (
    ("zipfel", "Zipfel"),
    ("zipfel", "Ranking"),
    ("zipfel.explanation", "Explained"),
    ("zipfel.explanation", "Voter"),
    ("zipfel.datasets", "load"),
    ("zipfel.datasets", "write"),
)
"""Names that come first, some of them of other modules."""


def on_files(files: Files, config: Any) -> Files:
    """Adds the generated pages to the site."""
    pages = {
        "reference/cli.md": cli_page(),
        "reference/python.md": python_page(),
        "reference/methods.md": methods_page(),
    }
    for path, text in pages.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fills in the tables that are made from code and data files."""
    return filled(markdown)


# -- the command line


def commands() -> Iterator[tuple[str, click.Command]]:
    """(full name, command) of every command and subcommand."""
    import typer.main

    from zipfel.cli.main import app

    yield from _walk("zipfel", typer.main.get_command(app))


def _walk(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    children = getattr(command, "commands", None)
    if children is None:
        yield name, command
        return
    for child_name, child in children.items():
        yield from _walk(f"{name} {child_name}", child)


def cli_page() -> str:
    lines = ["# Commands", "", "Generated from `--help`.", ""]
    for name, command in commands():
        context = click.Context(command, info_name=name)
        pieces = " ".join(command.collect_usage_pieces(context)).replace("{", "").replace("}", "")
        usage = re.sub(r"\.{4,}", "...", pieces).upper()
        lines += [f"## {name}", "", f"`{name} {usage}`", "", *_paragraphs(command.help or ""), ""]
        rows = [row for parameter in command.params if (row := _parameter_row(parameter))]
        if rows:
            lines += ["| argument or option | default | what it does |", "|---|---|---|", *rows, ""]
    return "\n".join(lines)


def _paragraphs(text: str) -> list[str]:
    """Help text; a line that is a command becomes code."""
    found = []
    for line in inspect.cleandoc(text).splitlines():
        bare = line.strip().removeprefix("Example:").strip()
        found.append(f"    {bare}" if bare.startswith("zipfel ") or bare.startswith("echo ") else line)
    return "\n".join(found).replace("<", "&lt;").replace("\n    ", "\n\n    ").splitlines()


def _parameter_row(parameter: Any) -> str:
    told = (getattr(parameter, "help", None) or "").replace("\\[", "[")
    names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
    if parameter.param_type_name == "argument":
        names = f"`{parameter.metavar or str(parameter.name).upper()}`"
    default = parameter.default
    is_plain = default not in (None, False, "") and not callable(default) and "UNSET" not in repr(default).upper()
    shown = f"`{default}`" if is_plain else ""
    return f"| {names} | {cell(shown)} | {cell(told)} |"


# -- Python


def public_names() -> Iterator[tuple[str, str, Any]]:
    """(module, name, object) of every public name, once."""
    seen: set[int] = set()
    for module_name, name in FIRST:
        value = getattr(importlib.import_module(module_name), name)
        seen.add(id(value))
        yield module_name, name, value
    for module_name in PUBLIC:
        module = importlib.import_module(module_name)
        for name in getattr(module, "__all__", None) or _own_names(module):
            value = getattr(module, name)
            if not (inspect.isclass(value) or inspect.isfunction(value)) or id(value) in seen:
                continue
            seen.add(id(value))
            yield module_name, name, value


def _own_names(module: Any) -> Sequence[str]:
    return [
        name
        for name, value in vars(module).items()
        if getattr(value, "__module__", None) == module.__name__ and name[0] != "_"
    ]


def public_methods(cls: type) -> Iterator[tuple[str, Any]]:
    """(name, function or property) that the class itself or its zipfel bases define."""
    for name, value in inspect.getmembers(cls):
        inner = (
            inspect.unwrap(value.fget)
            if isinstance(value, property) and value.fget
            else inspect.unwrap(value)
            if callable(value)
            else None
        )
        if name.startswith("_") or inner is None or not getattr(inner, "__module__", "").startswith("zipfel"):
            continue
        if inspect.isclass(value):
            continue
        yield name, value


def python_page() -> str:
    lines = ["# Python reference", "", "Generated from the docstrings.", ""]
    for module, name, value in public_names():
        lines += [f"## {module}.{name}", "", f"`{name}{_signature(value)}`", "", *_docstring(value), ""]
        if inspect.isclass(value) and not issubclass(value, Exception):
            for method_name, method in public_methods(value):
                signature = "" if isinstance(method, property) else _signature(method)
                lines += [f"### {name}.{method_name}", "", f"`{method_name}{signature}`", "", *_docstring(method), ""]
    return "\n".join(lines)


def _signature(value: Any) -> str:
    try:
        text = str(inspect.signature(value))
    except (TypeError, ValueError):
        return ""
    return re.sub(r"zipfel\.[a-z_.]+\.|typing\.|collections\.abc\.|'", "", text)


def _docstring(value: Any) -> list[str]:
    """The docstring as Markdown: examples become code blocks, `name:` paragraphs stay."""
    found: list[str] = []
    inside = False
    for line in (inspect.getdoc(value) or "").splitlines():
        starts = line.lstrip().startswith(">>>")
        if starts and not inside:
            found += ["", "```pycon"]
            inside = True
        elif inside and not line.strip():
            found += ["```", ""]
            inside = False
            continue
        found += [line] if inside else _prose(line, found)
    return [*found, "```"] if inside else found


def _prose(line: str, before: list[str]) -> list[str]:
    """A line outside of an example; a description of parameters becomes an item of a list."""
    described = re.match(r"([a-zA-Z_]\w*(?:, [a-zA-Z_]\w*)*): (?=\S)(.*)", line)
    if not described:
        return [cell(line)]
    item = f"- **{described[1]}**: {cell(described[2])}"
    return [item] if before and (before[-1].startswith(("- **", "    ")) or not before[-1]) else ["", item]


# -- methods


def methods_page() -> str:
    from zipfel.methods.registry import method_class, method_names

    lines = [
        "# Methods and their parameters",
        "",
        "Generated from the declarations. `--set NAME=VALUE` sets a parameter.",
        "",
    ]
    for name in method_names():
        cls = method_class(name)
        lines += [f"## {name}", "", f"{cls.title}." + (f" {cls.paper}" if cls.paper else ""), ""]
        if cls.presets:
            lines += ["Presets: " + ", ".join(f"`{preset}`" for preset in cls.presets) + ".", ""]
        lines += ["| parameter | default | allowed | in the paper | what it does |", "|---|---|---|---|---|"]
        lines += [
            f"| `{p.name}` | `{p.default}` | {cell(p.constraint or p.kind)} | {cell(p.symbol)} | {cell(p.help)} |"
            for p in cls.Config.parameters()
        ]
        lines.append("")
    return "\n".join(lines)
