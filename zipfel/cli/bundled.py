"""`zipfel data bundled`: the data that comes with the package, as files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zipfel.cli.console import say
from zipfel.errors import ParameterError


def bundled(
    folder: Annotated[Path, typer.Argument(help="Folder for train.jsonl and test.jsonl; it is made if need be.")],
    name: Annotated[str, typer.Option(help="Which data set: debian-tags.")] = "debian-tags",
) -> None:
    """Write the bundled data set as two JSONL files: package descriptions of Debian and their tags.

    Example:  zipfel data bundled debian-tags-data
    """
    from zipfel import datasets

    targets = {part: folder / f"{part}.jsonl" for part in ("train", "test")}
    for target in targets.values():
        if target.exists():
            raise ParameterError(f"{target} exists already: choose another folder, or remove the file")
    folder.mkdir(parents=True, exist_ok=True)
    for part, target in targets.items():
        rows = datasets.write(name, part, target)
        say(f"{target}: {rows:,} documents")
