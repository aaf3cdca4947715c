"""`zipfel update`: more documents for a model, without training it again."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zipfel.cli.console import print_json, say, tell
from zipfel.cli.embeddings import load_with, with_file
from zipfel.cli.fields import Fields, with_file_options
from zipfel.cli.first_run import compile_for_update
from zipfel.cli.fit import read_and_report
from zipfel.cli.options import Embeddings, Encoder, Force, Json, Model, Threads
from zipfel.cli.progress import TerminalProgress

if TYPE_CHECKING:
    from zipfel.classifier import Zipfel
    from zipfel.data import Dataset

LAST_FEEDBACK = "feedback"
"""Key of `Zipfel.training_`: number of the last verdict that the model has learned."""


@with_file_options
def update(
    model: Model,
    file: Annotated[str | None, typer.Argument(help="Tagged documents, in any format that `zipfel fit` reads.")] = None,
    feedback: Annotated[
        Path | None, typer.Option(metavar="DB", help="Learn from what `zipfel serve` kept: accepted labels, each once.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the new model (default: it replaces the old one).")
    ] = None,
    embeddings: Embeddings = None,
    encoder: Encoder = None,
    threads: Threads = None,
    force: Force = False,
    json: Json = False,
    *,
    fields: Fields,
) -> None:
    """Add tagged documents to a model without training it again (auto, knn, dxml).

    New documents vote at once. New labels are added; with auto and knn, new words as well. Documents whose ids the
    model knows are skipped, so the same file may be given again. The command says when to fit again.

    zipfel update model new.jsonl --out model2

    zipfel update model --feedback model.feedback.sqlite
    """
    from zipfel.data import read
    from zipfel.errors import ParameterError
    from zipfel.persistence import save_or_rescue, writing

    start, target = time.monotonic(), out or model
    if file is None and feedback is None:
        raise ParameterError("there is nothing to learn from: name a file of documents, or --feedback DB")
    loaded = load_with(model, encoder)
    loaded.threads, kept = threads, loaded.threads
    known = loaded.n_labels_
    n_documents = 0
    with writing(target, force):
        if file is not None:
            dataset = with_file(read_and_report(read, file, fields), embeddings)
            compile_for_update(loaded, threads)
            with TerminalProgress().task("adding"):
                before = loaded.training_["n_points"]
                loaded.partial_fit(dataset)
            n_documents += loaded.training_["n_points"] - before
            if left_out := dataset.n_points - n_documents:
                say(f"{file}: {left_out:,} documents are left out: {_why(dataset)}")
        if feedback is not None:
            n_documents += _learn(loaded, feedback)
        loaded.threads = kept
        save_or_rescue(partial(loaded.save, force=force), target)
    _report(loaded, target, n_documents, loaded.n_labels_ - known, time.monotonic() - start, as_json=json)


def _report(model: Zipfel, target: Path, n_documents: int, added: int, seconds: float, *, as_json: bool) -> None:
    n_points, growth = model.training_["n_points"], model.training_.get("growth")
    if as_json:
        facts = {"model": str(target), "added": n_documents, "new_labels": added, "n_points": n_points}
        print_json({**facts, "growth": growth, "seconds": round(seconds, 3)})
        return
    tell(
        f"{n_documents:,} documents and {added:,} new labels added in {seconds:.1f} s; "
        f"the model in {target} now has {n_points:,} documents"
    )
    if growth is not None:
        tell(str(growth["advice"]))


def _why(dataset: Dataset) -> str:
    """How the model knew documents that it left out."""
    return "the model knows their ids" if dataset.ids is not None else "the model has learned these data before"


def _learn(model: Zipfel, file: Path) -> int:
    """Adds the texts with labels that were accepted since the last update; returns their number."""
    from zipfel.serve.feedback import read_feedback

    found = read_feedback(file, after=int(model.training_.get(LAST_FEEDBACK, 0)))
    if found.texts:
        with TerminalProgress().task("adding feedback"):
            model.partial_fit(found.texts, found.tags)
    model.training_[LAST_FEEDBACK] = found.last
    left_out = f"{found.n_rejected:,} rejected labels, {found.n_without:,} texts without an accepted one are left out"
    say(f"{file}: {len(found.texts):,} new texts with accepted labels; {left_out}")
    return len(found.texts)
