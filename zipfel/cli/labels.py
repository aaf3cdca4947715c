"""`zipfel labels`: labels of a fitted model added, retired, renamed and merged, without training it again."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zipfel.cli.console import print_json, tell
from zipfel.cli.embeddings import load_with, with_file
from zipfel.cli.fields import Fields, with_file_options
from zipfel.cli.fit import read_and_report
from zipfel.cli.options import Embeddings, Encoder, Force, Json, Model, Threshold

if TYPE_CHECKING:
    from zipfel.classifier import Zipfel

app = typer.Typer(
    help="Add, retire, rename and merge labels of a model, without training it again; report on each.\n\n"
    "FILE has a label a line, by its identifier; cells are separated by tabs; - is standard input.",
    no_args_is_help=True,
)
Changes = Annotated[str, typer.Argument(metavar="FILE", help="The labels; - reads standard input.")]
Target = Annotated[
    Path | None, typer.Option("--out", help="Folder for the new model (default: it replaces the old one).")
]


@app.command()
@with_file_options
def report(
    model: Model,
    test: Annotated[str, typer.Argument(help="Tagged documents that the model was not trained on.")],
    k: Annotated[int, typer.Option("-k", min=1, help="Labels of each document that count as given.")] = 5,
    threshold: Threshold = None,
    sort: Annotated[str, typer.Option(help="Column to sort by: support, f1, missed, wrong, label, ...")] = "support",
    csv: Annotated[Path | None, typer.Option(help="Write all labels to this CSV file; - prints them.")] = None,
    top: Annotated[int, typer.Option(min=1, help="Labels that the tables show.")] = 20,
    embeddings: Embeddings = None,
    encoder: Encoder = None,
    json: Json = False,
    *,
    fields: Fields,
) -> None:
    """Precision, recall and F1 of each label; the labels most missed and most wrongly given, with documents.

    zipfel labels report model test.jsonl --sort f1 --csv labels.csv
    """
    from zipfel.data import read
    from zipfel.decisions import parse_threshold
    from zipfel.metrics.label_report import check_column

    check_column(sort)
    if threshold is not None:
        parse_threshold(threshold)
    data = with_file(read_and_report(read, test, fields), embeddings)
    found = load_with(model, encoder).label_report(data, k=k, threshold=threshold)
    rows = found.rows(sort)
    if csv is not None:
        if str(csv) == "-":
            tell(found.to_csv(sort).rstrip())
            return
        csv.write_text(found.to_csv(sort), encoding="utf-8", errors="replace")
    failures = {"most_missed": found.most_missed(top), "most_wrong": found.most_wrong(top)}
    if json:
        told = {kind: [failure._asdict() for failure in its] for kind, its in failures.items()}
        print_json({"model": str(model), "n_points": data.n_points, "labels": rows, **told})
        return
    from zipfel.cli.show import console, failure_table, label_table

    console().print(label_table(rows[:top], f"{len(rows):,} labels, by {sort}"))
    for kind, its in failures.items():
        console().print(failure_table(its, kind.replace("_", " "), data.ids or [f"row {i}" for i in range(len(data))]))


@app.command()
def add(model: Model, file: Changes, out: Target = None, force: Force = False, json: Json = False) -> None:
    """Add labels: a line is IDENTIFIER, or IDENTIFIER<TAB>NAME for a model with a vocabulary.

    They are predicted after `zipfel update` has added documents with them.

    zipfel labels add model new.txt
    """
    from zipfel.estimator.relabelling import add_labels, read_changes

    rows = read_changes(file, 1, optional=1)
    _change(model, out, force, json, "added", lambda loaded: add_labels(loaded, rows))


@app.command()
def retire(model: Model, file: Changes, out: Target = None, force: Force = False, json: Json = False) -> None:
    """Stop predicting labels: a line is IDENTIFIER. In test data these labels are ignored.

    zipfel labels retire model old.txt
    """
    from zipfel.estimator.relabelling import read_changes, retire_labels

    labels = [row[0] for row in read_changes(file, 1)]
    _change(model, out, force, json, "retired", lambda loaded: retire_labels(loaded, labels))


@app.command()
def rename(model: Model, file: Changes, out: Target = None, force: Force = False, json: Json = False) -> None:
    """Rename labels: a line is OLD<TAB>NEW; for a model with a vocabulary, IDENTIFIER<TAB>NEW NAME.

    zipfel labels rename model names.tsv
    """
    from zipfel.estimator.relabelling import read_changes, rename_labels

    names = dict(read_changes(file, 2))
    _change(model, out, force, json, "renamed", lambda loaded: rename_labels(loaded, names))


@app.command()
def merge(model: Model, file: Changes, out: Target = None, force: Force = False, json: Json = False) -> None:
    """Merge labels into others: a line is LABEL<TAB>THE LABEL TO USE INSTEAD.

    zipfel labels merge model pairs.tsv
    """
    from zipfel.estimator.relabelling import merge_labels, read_changes

    into = dict(read_changes(file, 2))
    _change(model, out, force, json, "merged", lambda loaded: merge_labels(loaded, into))


def _change(
    folder: Path, out: Path | None, force: bool, json: bool, done: str, change: Callable[[Zipfel], int]
) -> None:
    """Loads, changes and saves a model, and says what was done."""
    from zipfel.classifier import Zipfel
    from zipfel.estimator.history import event, remembered
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
    tell(f"{n_changed:,} labels {done}; the model is in {target}")
