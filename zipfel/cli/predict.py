"""`zipfel predict` and `zipfel evaluate`."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from zipfel.cli.console import TerminalProgress, print_json, say
from zipfel.cli.fit import read_told
from zipfel.cli.options import KS, Format, Json, LabelColumn, Labels, LabelSeparator, Model, TextColumn, Threads

if TYPE_CHECKING:
    from zipfel.data import Dataset

CHUNK = 4096
"""Documents that are answered at once, so that output starts early and memory stays small."""


def evaluate(
    model: Model,
    test: Annotated[str, typer.Argument(help="Tagged documents, in any format that `zipfel fit` reads.")],
    k: Annotated[str, typer.Option("--k", help="Ranks to measure at, e.g. 1,3,5.")] = KS,
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
    k: Annotated[int, typer.Option("-k", min=1, help="Labels a document.")] = 5,
    text_column: TextColumn = None,
    format_: Format = "auto",
    threads: Threads = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a document: id, labels, scores.")] = False,
) -> None:
    """Rank labels for documents.

    echo "a fast text editor for the terminal" | zipfel predict model -
    """
    from zipfel.classifier import Zipfel
    from zipfel.data import read_documents

    if file == "-" and sys.stdin.isatty():
        say("reading documents from the keyboard, one a line; end with Ctrl-D")
    loaded = Zipfel.load(model)
    loaded.threads = threads
    documents = read_told(read_documents, file, {"text_column": text_column, "format": format_}, silent=True)
    with TerminalProgress().task("predicting", total=documents.n_points) as task:
        for part in _parts(documents):
            rows = loaded.predict(part, k=min(k, loaded.n_labels_)).rows()
            for i, (title, labels) in enumerate(zip(_titles(part), rows, strict=True)):
                if json:
                    names, scores = [name for name, _ in labels], [round(score, 6) for _, score in labels]
                    print_json(
                        {"id": part.ids[i] if part.ids is not None else title, "labels": names, "scores": scores}
                    )
                else:
                    typer.echo(title + "\t" + "\t".join(f"{_line(name)} {score:.3f}" for name, score in labels))
            task.advance(part.n_points)


def _parts(documents: Dataset) -> Iterator[Dataset]:
    import numpy as np

    for start in range(0, documents.n_points, CHUNK):
        yield documents.take(np.arange(start, min(start + CHUNK, documents.n_points)))


def _titles(part: Dataset) -> list[str]:
    """What names a document in the output: its id, else the beginning of its text, else its number."""
    if part.ids is not None:
        return [_line(str(i)) for i in part.ids]
    if part.texts is not None:
        return [_line(text[:60]) for text in part.texts]
    return [str(i) for i in range(part.n_points)]


def _line(words: str) -> str:
    """Without the tabs and line ends that would break a table of one line a document."""
    return " ".join(words.split())


def parse_ks(words: str) -> tuple[int, ...]:
    from zipfel.errors import ParameterError

    try:
        ks = tuple(sorted({int(word) for word in words.split(",")}))
    except ValueError:
        ks = ()
    if not ks or ks[0] < 1:
        raise ParameterError(f"--k takes whole numbers from 1 on, such as 1,3,5; got {words!r}")
    return ks
