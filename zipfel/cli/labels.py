"""`zipfel labels`: labels of a fitted model added, retired, renamed and merged, without training it again."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zipfel.cli.console import print_json
from zipfel.cli.options import Force, Json, Model

if TYPE_CHECKING:
    from zipfel.classifier import Zipfel

app = typer.Typer(
    help="Add, retire, rename and merge labels of a model, without training it again.\n\n"
    "FILE has a label a line, by its identifier; cells are separated by tabs; - is standard input.",
    no_args_is_help=True,
)
Changes = Annotated[str, typer.Argument(metavar="FILE", help="The labels; - reads standard input.")]
Target = Annotated[
    Path | None, typer.Option("--out", help="Folder for the new model (default: it replaces the old one).")
]


@app.command()
def add(model: Model, file: Changes, out: Target = None, force: Force = False, json: Json = False) -> None:
    """Make labels known: a line is IDENTIFIER, or IDENTIFIER<TAB>NAME for a model with a vocabulary.

    They are predicted once `zipfel update` has brought documents of them.

    zipfel labels add model new.txt
    """
    from zipfel.relabelling import add_labels, read_changes

    rows = read_changes(file, 1, optional=1)
    _change(model, out, force, json, "added", lambda loaded: add_labels(loaded, rows))


@app.command()
def retire(model: Model, file: Changes, out: Target = None, force: Force = False, json: Json = False) -> None:
    """Never predict these labels again: a line is IDENTIFIER. Test data count as if they lacked them.

    zipfel labels retire model old.txt
    """
    from zipfel.relabelling import read_changes, retire_labels

    labels = [row[0] for row in read_changes(file, 1)]
    _change(model, out, force, json, "retired", lambda loaded: retire_labels(loaded, labels))


@app.command()
def rename(model: Model, file: Changes, out: Target = None, force: Force = False, json: Json = False) -> None:
    """Give labels new names: a line is OLD<TAB>NEW; for a model with a vocabulary, IDENTIFIER<TAB>NEW NAME.

    zipfel labels rename model names.tsv
    """
    from zipfel.relabelling import read_changes, rename_labels

    names = dict(read_changes(file, 2))
    _change(model, out, force, json, "renamed", lambda loaded: rename_labels(loaded, names))


@app.command()
def merge(model: Model, file: Changes, out: Target = None, force: Force = False, json: Json = False) -> None:
    """Let labels count as others: a line is LABEL<TAB>THE LABEL THAT IT COUNTS AS.

    zipfel labels merge model pairs.tsv
    """
    from zipfel.relabelling import merge_labels, read_changes

    into = dict(read_changes(file, 2))
    _change(model, out, force, json, "merged", lambda loaded: merge_labels(loaded, into))


def _change(
    folder: Path, out: Path | None, force: bool, json: bool, done: str, change: Callable[[Zipfel], int]
) -> None:
    """Loads, changes and saves a model, and says what was done."""
    from zipfel.classifier import Zipfel
    from zipfel.history import event, remembered
    from zipfel.persistence import save_or_rescue, writing

    target = out or folder
    loaded = Zipfel.load(folder)
    with writing(target, force):
        n_changed = change(loaded)
        loaded.training_ = remembered(loaded.training_, event(f"labels {done}", labels=n_changed))
        save_or_rescue(partial(loaded.save, force=force), target)
    if json:
        print_json({"model": str(target), done: n_changed, "n_labels": loaded.n_labels_})
        return
    typer.echo(f"{n_changed:,} labels {done}; the model is in {target}")
