"""`zipfel predict`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from zipfel.cli.answers import answers_of, labelled, writer
from zipfel.cli.console import say
from zipfel.cli.options import (
    Address,
    By,
    Format,
    Language,
    Limit,
    Model,
    OnError,
    Optimise,
    TextColumn,
    Threads,
    Threshold,
    Together,
    Workers,
)
from zipfel.cli.progress import TerminalProgress

if TYPE_CHECKING:
    from zipfel.classifier import Zipfel
    from zipfel.data import Dataset
    from zipfel.deciding import Chooser
    from zipfel.ranking import Ranking
    from zipfel.run import Progress

T = TypeVar("T")
ROWS, LABELS = "rows", "labels"
"""What the workers of a cluster share out among them."""


def predict(
    model: Model,
    file: Annotated[
        str, typer.Argument(help="Documents: JSONL, CSV, a text a line, or sparse rows; - is standard input.")
    ] = "-",
    k: Limit = None,
    threshold: Threshold = None,
    optimise: Optimise = None,
    together: Together = False,
    language: Language = None,
    text_column: TextColumn = None,
    format_: Format = "auto",
    on_error: OnError = "stop",
    threads: Threads = None,
    workers: Workers = None,
    by: By = ROWS,
    address: Address = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a document: id, labels, scores.")] = False,
) -> None:
    """Rank labels for documents, as they come.

    Standard input is plain text, one document a line, unless its first line is a JSON object with "text"; --format
    names any other format.

    With --threshold only labels that are likely enough; with --optimise those that are best by a metric.

    echo "a fast text editor for the terminal" | zipfel predict model -
    """
    from zipfel.classifier import Zipfel
    from zipfel.data.chunks import check_source, read_chunks
    from zipfel.errors import ParameterError
    from zipfel.vocabularies import check_language

    check_source(format_, on_error)
    if address is not None and workers is None:
        raise ParameterError("--address needs --workers: how many of the cluster's cores to use")
    if by not in (ROWS, LABELS):
        raise ParameterError(f"--by must be {ROWS} or {LABELS}, got {by!r}")
    if file == "-" and sys.stdin.isatty():
        say("reading documents from the keyboard, one a line; end with Ctrl-D")
    loaded = Zipfel.load(model)
    loaded.threads = threads
    language = check_language(loaded.vocabulary_, language)
    chooser = _chooser(loaded, k, threshold, optimise, together=together)
    texts = loaded.rows_.vectorizer is not None
    chunks = read_chunks(file, texts=texts, format=format_, text_column=text_column, on_error=on_error)
    write, width = writer(json=json), chooser.width
    asked = ((chunk, chunk.documents) for chunk in chunks)
    ranked = _ranked(loaded, asked, width)
    if workers is not None:
        ranked = _ranked_by(by, model, asked, width, workers, address)
    with _progress(file).task("predicting") as task:
        for chunk, ranking in _all_at_once(ranked, chooser) if together else _chosen(ranked, chooser):
            rows = () if ranking is None else labelled(ranking, loaded.vocabulary_, language)
            write(answers_of(chunk, rows, null_faults=on_error == "null"))
            task.advance(chunk.n_rows)


def _chooser(
    model: Zipfel, limit: int | None, threshold: str | None, optimise: str | None, *, together: bool
) -> Chooser:
    from zipfel.deciding import USUAL, Chooser

    if threshold is None and optimise is None and not together:
        return Chooser(min(limit or USUAL, model.n_labels_), lambda ranking: ranking)
    return model.chooser(threshold, limit, optimise, together=together)


def _ranked(model: Zipfel, asked: Iterable[tuple[T, Dataset]], k: int) -> Iterator[tuple[T, Ranking | None]]:
    """Each item and the labels of its documents, none where it has no documents."""
    for item, documents in asked:
        yield item, model.predict(documents, k=k) if len(documents) else None


def _ranked_by(
    by: str, folder: Path, asked: Iterable[tuple[T, Dataset]], k: int, workers: int, address: str | None
) -> Iterator[tuple[T, Ranking | None]]:
    """`_ranked` by the workers of a Ray cluster."""
    from zipfel.scale.label_shards import predict_by_label_shards
    from zipfel.scale.predicting import predict_partitions

    predict = predict_partitions if by == ROWS else predict_by_label_shards
    yield from predict(folder, asked, k, workers=workers, address=address)


def _chosen(ranked: Iterable[tuple[T, Ranking | None]], chooser: Chooser) -> Iterator[tuple[T, Ranking | None]]:
    for item, ranking in ranked:
        yield item, None if ranking is None else chooser.choose(ranking)


def _all_at_once(ranked: Iterable[tuple[T, Ranking | None]], chooser: Chooser) -> Iterator[tuple[T, Ranking | None]]:
    """The same with the labels of all documents chosen together, when the last one is there."""
    from zipfel.ranking import Ranking

    items = list(ranked)
    parts = [ranking for _, ranking in items if ranking is not None]
    whole = chooser.choose(Ranking.concatenate(parts)) if parts else None
    at = 0
    for item, ranking in items:
        n = 0 if ranking is None else len(ranking)
        yield item, whole[at : at + n] if whole is not None and n else None
        at += n


def _progress(file: str) -> Progress:
    """A bar only where it cannot come between the answers, or between what the user types."""
    from zipfel.run import Silent

    typed = file == "-" and sys.stdin.isatty()
    return Silent() if typed or sys.stdout.isatty() else TerminalProgress()
