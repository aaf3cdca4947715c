"""`zipfel predict` and `zipfel evaluate`."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from zipfel.cli.answers import answers_of, writer
from zipfel.cli.console import print_json, say
from zipfel.cli.fit import read_told
from zipfel.cli.options import (
    KS,
    Address,
    Format,
    Json,
    LabelColumn,
    Labels,
    LabelSeparator,
    Model,
    OnError,
    TextColumn,
    Threads,
    Workers,
)
from zipfel.cli.progress import TerminalProgress

if TYPE_CHECKING:
    from zipfel.classifier import Zipfel
    from zipfel.cli.answers import Labels as Answers
    from zipfel.data import Dataset
    from zipfel.run import Progress

T = TypeVar("T")


def evaluate(
    model: Model,
    test: Annotated[str, typer.Argument(help="Tagged documents, in any format that `zipfel fit` reads.")],
    k: Annotated[str, typer.Option("-k", "--k", help="Ranks to measure at, e.g. 1,3,5.")] = KS,
    labels: Labels = None,
    label_column: LabelColumn = None,
    text_column: TextColumn = None,
    label_separator: LabelSeparator = None,
    format_: Format = "auto",
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Measure a model on tagged documents: P, nDCG, R, PSP, PSnDCG, coverage and macro-F1 at k.

    zipfel evaluate model test.jsonl --json
    """
    from zipfel.classifier import Zipfel
    from zipfel.data import read

    ks = parse_ks(k)
    loaded = Zipfel.load(model)
    loaded.threads = threads
    options = {"labels": labels, "label_column": label_column, "text_column": text_column}
    dataset = read_told(read, test, {**options, "label_separator": label_separator, "format": format_})
    start = time.monotonic()
    with TerminalProgress().task("evaluating"):
        scores = loaded.evaluate(dataset, ks=ks)
    seconds = time.monotonic() - start
    if json:
        print_json({"model": str(model), "n_points": dataset.n_points, "seconds": round(seconds, 3), **scores})
        return
    from zipfel.cli.show import console, metric_table

    console().print(metric_table(scores, ks, f"{loaded.method} on {dataset.n_points:,} documents"))
    typer.echo(f"{seconds:.1f} s, {1000 * seconds / max(1, dataset.n_points):.2f} ms a document")


def predict(
    model: Model,
    file: Annotated[
        str, typer.Argument(help="Documents: JSONL, CSV, a text a line, or sparse rows; - is standard input.")
    ] = "-",
    k: Annotated[int, typer.Option("-k", "--k", min=1, help="Labels a document.")] = 5,
    text_column: TextColumn = None,
    format_: Format = "auto",
    on_error: OnError = "stop",
    threads: Threads = None,
    workers: Workers = None,
    address: Address = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a document: id, labels, scores.")] = False,
) -> None:
    """Rank labels for documents, as they come.

    Standard input is plain text, one document a line, unless its first line is a JSON object with "text"; --format
    names any other format.

    echo "a fast text editor for the terminal" | zipfel predict model -
    """
    from zipfel.classifier import Zipfel
    from zipfel.data.chunks import check_source, read_chunks
    from zipfel.errors import ParameterError

    check_source(format_, on_error)
    if address is not None and workers is None:
        raise ParameterError("--address needs --workers: how many of the cluster's cores to use")
    if file == "-" and sys.stdin.isatty():
        say("reading documents from the keyboard, one a line; end with Ctrl-D")
    loaded = Zipfel.load(model)
    loaded.threads = threads
    texts = loaded.rows_.vectorizer is not None
    chunks = read_chunks(file, texts=texts, format=format_, text_column=text_column, on_error=on_error)
    k, write = min(k, loaded.n_labels_), writer(json=json)
    asked = ((chunk, chunk.documents) for chunk in chunks)
    answered = _answered(loaded, asked, k) if workers is None else _answered_by(model, asked, k, workers, address)
    with _progress(file).task("predicting") as task:
        for chunk, rows in answered:
            write(answers_of(chunk, rows, null_faults=on_error == "null"))
            task.advance(chunk.n_rows)


def _answered(model: Zipfel, asked: Iterable[tuple[T, Dataset]], k: int) -> Iterator[tuple[T, Iterable[Answers]]]:
    """Each item and the labels of its documents."""
    for item, documents in asked:
        yield item, model.predict(documents, k=k).rows() if len(documents) else ()


def _answered_by(
    folder: Path, asked: Iterable[tuple[T, Dataset]], k: int, workers: int, address: str | None
) -> Iterator[tuple[T, Iterable[Answers]]]:
    """`_answered` by the workers of a Ray cluster."""
    from zipfel.scale.predicting import predict_partitions

    for item, ranking in predict_partitions(folder, asked, k, workers=workers, address=address):
        yield item, ranking.rows() if ranking is not None else ()


def _progress(file: str) -> Progress:
    """A bar only where it cannot come between the answers, or between what the user types."""
    from zipfel.run import Silent

    typed = file == "-" and sys.stdin.isatty()
    return Silent() if typed or sys.stdout.isatty() else TerminalProgress()


def parse_ks(words: str) -> tuple[int, ...]:
    from zipfel.errors import ParameterError

    try:
        ks = tuple(sorted({int(word) for word in words.split(",")}))
    except ValueError:
        ks = ()
    if not ks or ks[0] < 1:
        raise ParameterError(f"--k takes whole numbers from 1 on, such as 1,3,5; got {words!r}")
    return ks
