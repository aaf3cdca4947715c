"""`zipfel info` and `zipfel methods`: what a model is, and what there is to choose from."""

from __future__ import annotations

from typing import Annotated

import typer

from zipfel.cli.console import print_json
from zipfel.cli.options import Json, Model


def info(
    model: Model,
    json: Json = False,
) -> None:
    """Show what a model is: method, parameters, sizes, training data, timings, metrics, files."""
    from zipfel.persistence import folder_size, load_model

    config = dict(load_model(model).config)  # reads and checks every file
    config["bytes"] = folder_size(model)
    if json:
        print_json(config)
        return
    from zipfel.cli.show import console, fact_table

    config["files"] = {name: f"{entry['bytes']:,} bytes, checksum holds" for name, entry in config["files"].items()}
    metrics = config.get("metrics") or {}
    config["metrics"] = {n: f"{100 * v:.2f} %" if isinstance(v, int | float) else v for n, v in metrics.items()}
    console().print(fact_table(config))


def methods(
    name: Annotated[str | None, typer.Argument(help="Only this method, with all of its parameters.")] = None,
    json: Json = False,
) -> None:
    """List the methods with their parameters, constraints and defaults."""
    from zipfel.methods import method_class, method_names

    classes = [method_class(n) for n in ([name] if name else method_names())]
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
        return
    from zipfel.cli.show import console, parameter_table

    screen = console()
    for c in classes:
        screen.print(f"\n[bold]{c.name}[/bold]  {c.title}" + (f"\n  {c.paper}" if c.paper else ""))
        if c.presets:
            screen.print(f"  presets: {', '.join(c.presets)}")
        screen.print(parameter_table(c.Config.parameters()))
