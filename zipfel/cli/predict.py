"""`zipfel predict`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias, TypeVar

import typer

from zipfel.cli.answers import answers_of, labelled
from zipfel.cli.console import say
from zipfel.cli.embeddings import chunks_encoded, chunks_with_file, load_with
from zipfel.cli.first_run import compile_for_predict
from zipfel.cli.options import (
    Address,
    By,
    Embeddings,
    Encoder,
    Format,
    Language,
    Limit,
    Model,
    OnError,
    Optimise,
    Output,
    TextColumn,
    Threads,
    Threshold,
    To,
    Together,
    Url,
    Workers,
)
from zipfel.cli.progress import TerminalProgress

if TYPE_CHECKING:
    from zipfel.classifier import Zipfel
    from zipfel.cli.answers import Labels, Told
    from zipfel.data import Dataset
    from zipfel.data.chunks import Chunk
    from zipfel.estimator.deciding import Chooser
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
    embeddings: Embeddings = None,
    encoder: Encoder = None,
    text_column: TextColumn = None,
    format_: Format = "auto",
    on_error: OnError = "stop",
    threads: Threads = None,
    workers: Workers = None,
    by: By = ROWS,
    address: Address = None,
    output: Output = None,
    to: To = None,
    url: Url = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a document: id, labels, scores.")] = False,
) -> None:
    """Rank labels for documents.

    Standard input is plain text, one document a line, unless its first line is a JSON object with "text"; --format
    names any other format.

    --threshold accepts labels by probability; --optimise chooses the labels that are best by a metric.

    --url sends the documents to `zipfel serve`. ZIPFEL_TOKEN has its token.

    echo "a fast text editor for the terminal" | zipfel predict model -
    """
    from zipfel.cli.outputs import format_of, opened
    from zipfel.data.chunks import check_source, read_chunks
    from zipfel.errors import ParameterError

    check_source(format_, on_error)
    cluster = _cluster(workers, by, address)
    if url is not None and (threads or cluster or together or embeddings or encoder):
        without = "--threads, --workers, --together, --embeddings and --encoder"
        raise ParameterError(f"--url goes without {without}: the service does the work")
    kind = format_of(output, to, json=json)
    if file == "-" and sys.stdin.isatty():
        say("reading documents from the keyboard, one a line; end with Ctrl-D")
    wanted = Wanted(k, threshold, optimise, language, together)
    source = _of_service(url, model.name, wanted) if url else _of_model(model, wanted, threads, cluster, encoder)
    texts, answered = source
    read = read_chunks(file, texts=texts, format=format_, text_column=text_column, on_error=on_error)
    chunks = chunks_with_file(read, embeddings)
    with opened(output, kind) as write, _progress(file).task("predicting") as task:
        for chunk, rows in answered(chunks):
            write(answers_of(chunk, rows, null_faults=on_error == "null"))
            task.advance(chunk.n_rows)


@dataclass(frozen=True)
class Wanted:
    """Which labels the options ask for."""

    limit: int | None
    threshold: str | None
    optimise: str | None
    language: str | None
    together: bool


@dataclass(frozen=True)
class Cluster:
    """Workers that share the documents or the labels out among them."""

    workers: int
    by: str
    address: str | None


def _cluster(workers: int | None, by: str, address: str | None) -> Cluster | None:
    from zipfel.errors import ParameterError

    if address is not None and workers is None:
        raise ParameterError("--address needs --workers: how many of the cluster's cores to use")
    if by not in (ROWS, LABELS):
        raise ParameterError(f"--by must be {ROWS} or {LABELS}, got {by!r}")
    return None if workers is None else Cluster(workers, by, address)


Answered: TypeAlias = "Callable[[Iterable[Chunk]], Iterator[tuple[Chunk, Iterable[tuple[Labels, Told]]]]]"
"""Chunks of documents -> the same with the labels of each document."""


def _of_model(
    folder: Path, wanted: Wanted, threads: int | None, cluster: Cluster | None, encoder: str | None
) -> tuple[bool, Answered]:
    """(whether it takes texts, what answers) of a model folder."""
    from zipfel.estimator.vocabularies import check_language

    model = load_with(folder, encoder)
    model.threads = threads
    if cluster is None:
        compile_for_predict(model, threads)
    language = check_language(model.vocabulary_, wanted.language)
    chooser = _chooser(model, wanted.limit, wanted.threshold, wanted.optimise, together=wanted.together)

    def answered(chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, Iterable[tuple[Labels, Told]]]]:
        chunks = chunks if cluster is None else chunks_encoded(model, chunks)
        asked, width = ((chunk, chunk.documents) for chunk in chunks), chooser.width
        ranked = _ranked(model, asked, width) if cluster is None else _ranked_by(cluster, folder, asked, width)
        for chunk, ranking in _all_at_once(ranked, chooser) if wanted.together else _chosen(ranked, chooser):
            yield chunk, () if ranking is None else labelled(ranking, model.vocabulary_, language)

    return model.rows_.vectorizer is not None, answered


def _of_service(url: str, name: str, wanted: Wanted) -> tuple[bool, Answered]:
    """(whether it takes texts, what answers) of a model that is served."""
    from zipfel.cli.remote import Asked, Service

    service = Service(url, name)
    asked = Asked(wanted.limit, wanted.threshold, wanted.optimise, wanted.language)
    return service.takes_texts, lambda chunks: ((chunk, service.answered(chunk.documents, asked)) for chunk in chunks)


def _chooser(
    model: Zipfel, limit: int | None, threshold: str | None, optimise: str | None, *, together: bool
) -> Chooser:
    from zipfel.estimator.deciding import USUAL, Chooser

    if threshold is None and optimise is None and not together:
        return Chooser(min(limit or USUAL, model.n_labels_), lambda ranking: ranking)
    return model.chooser(threshold, limit, optimise, together=together)


def _ranked(model: Zipfel, asked: Iterable[tuple[T, Dataset]], k: int) -> Iterator[tuple[T, Ranking | None]]:
    """Each item and the labels of its documents, none where it has no documents."""
    for item, documents in asked:
        yield item, model.predict(documents, k=k) if len(documents) else None


def _ranked_by(
    cluster: Cluster, folder: Path, asked: Iterable[tuple[T, Dataset]], k: int
) -> Iterator[tuple[T, Ranking | None]]:
    """`_ranked` by the workers of a Ray cluster."""
    from zipfel.scale.label_shards import predict_by_label_shards
    from zipfel.scale.predicting import predict_partitions

    predict = predict_partitions if cluster.by == ROWS else predict_by_label_shards
    yield from predict(folder, asked, k, workers=cluster.workers, address=cluster.address)


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
