"""`zipfel info` and `zipfel methods`: what a model is, and what there is to choose from."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from zipfel.cli.console import print_json, tell
from zipfel.cli.options import DEFAULT_METHOD, Json, Model

if TYPE_CHECKING:
    from zipfel.config import Parameter
    from zipfel.methods import Method


def info(
    model: Model,
    all_: Annotated[bool, typer.Option("--all", help="Every parameter, metric, timing and file.")] = False,
    json: Json = False,
) -> None:
    """Show what a model is: method, labels, training data, metrics, history; --all for every parameter and file.

    zipfel info model --all
    """
    from zipfel.persistence import folder_size, load_model

    config = dict(load_model(model, verify=all_ or None).config)
    config["bytes"] = folder_size(model)
    if json:
        print_json(config)
        return
    from zipfel.cli.show import fact_table, show

    if not all_:
        from zipfel.cli.summary import summary

        show(fact_table(summary(model, config)))
        return
    config["files"] = {name: f"{entry['bytes']:,} bytes, checksum holds" for name, entry in config["files"].items()}
    metrics = config.get("metrics") or {}
    config["metrics"] = {n: f"{100 * v:.2f} %" if isinstance(v, int | float) else v for n, v in metrics.items()}
    plan = config.get("facts", {}).pop("plan", None)
    show(fact_table(config))
    if plan:
        from zipfel.cli.plan import plan_table

        show(plan_table(plan))


def methods(
    name: Annotated[str | None, typer.Argument(help="A method, to show its presets and parameters.")] = None,
    json: Json = False,
) -> None:
    """List the methods; with a name, show its presets and parameters.

    zipfel methods auto
    """
    from zipfel.methods import method_class, method_names
    from zipfel.methods.registry import installed_methods

    classes = [method_class(n) for n in ([name] if name else installed_methods())]
    if json:
        listed = {
            c.name: {
                "title": c.title,
                "paper": c.paper,
                "presets": {preset: dict(values) for preset, values in c.presets.items()},
                "parameters": {p.name: vars(p) | {"constraint": p.constraint} for p in c.Config.parameters()},
            }
            for c in classes
        }
        print_json(listed)
    elif name:
        _print_method(classes[0])
    else:
        _print_list(classes)
        missing = [n for n in method_names() if n not in {c.name for c in classes}]
        if missing:
            tell(f"with pip install 'zipfel[papers]': {', '.join(missing)}")


def _print_list(classes: list[type[Method]]) -> None:
    """A line a method, cut where the terminal ends."""
    from zipfel.cli.show import console

    room = console().width if sys.stdout.isatty() else 1000
    for c in sorted(classes, key=lambda c: c.name != DEFAULT_METHOD):
        line = f"{c.name:10} {c.title}" + " (the default)" * (c.name == DEFAULT_METHOD)
        tell(line if len(line) <= room else line[: room - 1] + "…")
    if sys.stdout.isatty():
        tell("\nzipfel methods NAME shows its presets and parameters")


def _print_method(c: type[Method]) -> None:
    """Its title and paper, what each preset sets, and a paragraph a parameter."""
    from zipfel.cli.show import indented

    tell(indented(f"{c.name}: {c.title}", 0, 4))
    if c.paper:
        tell(indented(c.paper, 4))
    if c.presets:
        tell("\npresets (--preset NAME)")
    for preset, values in c.presets.items():
        sets = ", ".join(f"{key}={_shown(value)}" for key, value in values.items()) or "the defaults"
        tell(indented(f"{preset}: {sets}", 2, 6))
    tell("\nparameters (--set NAME=VALUE)")
    for p in c.Config.parameters():
        tell(indented(_headline(p), 2, 6))
        tell(indented(p.help, 6))


def _headline(p: Parameter) -> str:
    allowed = p.constraint or p.kind.removesuffix("?")
    symbol = f", {p.symbol} in the paper" if p.symbol else ""
    return f"{p.name} = {_shown(p.default)}  ({allowed}{symbol})"


def _shown(value: object) -> str:
    """As it is typed behind --set."""
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
