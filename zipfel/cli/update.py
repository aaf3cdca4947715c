"""`zipfel update`: more documents for a model, without training it again."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from zipfel.cli.console import TerminalProgress, print_json
from zipfel.cli.fit import read_told
from zipfel.cli.options import Force, Format, Json, LabelColumn, Labels, LabelSeparator, Model, TextColumn, Threads


def update(
    model: Model,
    file: Annotated[str, typer.Argument(help="Tagged documents, in any format that `zipfel fit` reads.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder for the new model (default: it replaces the old one).")
    ] = None,
    labels: Labels = None,
    label_column: LabelColumn = None,
    text_column: TextColumn = None,
    label_separator: LabelSeparator = None,
    format_: Format = "auto",
    threads: Threads = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Add tagged documents to a model without training it (auto, knn, dxml): they vote at once.

    Labels that the model does not know yet are taken in, words that it does not know are not.

    zipfel update model new.jsonl --out model2
    """
    from zipfel.classifier import Zipfel
    from zipfel.data import read
    from zipfel.persistence import save_or_rescue, writing

    start, target = time.monotonic(), out or model
    loaded = Zipfel.load(model)
    loaded.threads, kept = threads, loaded.threads
    known = loaded.n_labels_
    options = {"labels": labels, "label_column": label_column, "text_column": text_column}
    with writing(target, force):
        dataset = read_told(read, file, {**options, "label_separator": label_separator, "format": format_})
        with TerminalProgress().task("adding"):
            loaded.partial_fit(dataset)
        loaded.threads = kept
        save_or_rescue(partial(loaded.save, force=force), target)
    added, seconds = loaded.n_labels_ - known, time.monotonic() - start
    if json:
        facts = {"model": str(target), "added": dataset.n_points, "new_labels": added}
        print_json({**facts, "n_points": loaded.training_["n_points"], "seconds": round(seconds, 3)})
        return
    typer.echo(
        f"{dataset.n_points:,} documents and {added:,} new labels added in {seconds:.1f} s; "
        f"the model in {target} now has {loaded.training_['n_points']:,} documents"
    )
