"""`zipfel explain`: the words and the training documents that raise the scores of a document's labels."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zipfel.cli.console import print_json, say
from zipfel.cli.embeddings import load_with
from zipfel.cli.first_run import compile_for_predict
from zipfel.cli.options import Embeddings, Encoder, Model, Threads

if TYPE_CHECKING:
    from zipfel.explanation import Explained

_VOTERS, _OPENING = 5, 80
"""Training documents that are shown of each label, and how many letters of each."""


def explain(
    model: Model,
    text: Annotated[str, typer.Argument(help="One document; - reads it from standard input.")],
    k: Annotated[int, typer.Option("-k", "--k", min=1, help="Labels to explain: the k best.")] = 5,
    label: Annotated[list[str] | None, typer.Option(help="Explain this label instead; may be repeated.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page with the highlighted text to this file.")] = None,
    train: Annotated[
        str | None, typer.Option(help="The training data, to show how the documents begin that voted.")
    ] = None,
    embeddings: Embeddings = None,
    encoder: Encoder = None,
    threads: Threads = None,
    json: Annotated[
        bool, typer.Option("--json", help="One JSON object: words; labels with contributions, evidence, voters.")
    ] = False,
) -> None:
    """Show why a document gets its labels: words, similar training documents and kinds of evidence.

    Every number was added to the label's score. The kinds of evidence sum to the score.

    Training documents are named by their row, counted from 0, with the words in common.

    zipfel explain model "a fast text editor for the terminal" --html why.html
    """
    from zipfel.data.embeddings import read_embeddings

    document = sys.stdin.read() if text == "-" else text
    loaded = load_with(model, encoder)
    loaded.threads = threads
    compile_for_predict(loaded, threads)
    rows = None if embeddings is None else read_embeddings(embeddings)
    found = loaded.explain(document, labels=label, k=k, embeddings=rows)
    if html is not None:
        html.write_text(found.to_html(), encoding="utf-8", errors="replace")
        say(f"the highlighted text is in {html}")
    if json:
        print_json(found.to_dict())
    else:
        _print(found, _openings(train), coloured=sys.stdout.isatty())


def _openings(train: str | None) -> Mapping[int, str]:
    """How each document of the training data begins, by row; after its id, where it has one."""
    if train is None:
        return {}
    from zipfel.data import read

    data = read(train)
    texts, ids = data.texts or [""] * data.n_points, data.ids or [""] * data.n_points
    return {row: f"{name} {text[:_OPENING]}".strip() for row, (name, text) in enumerate(zip(ids, texts, strict=True))}


def _print(found: Explained, openings: Mapping[int, str], *, coloured: bool) -> None:
    """For each label its reasons, strongest first; on a terminal the text as well, highlighted."""
    if not found.words:
        typer.echo("the model knows none of this document's words")
    if found.attention:
        attention = sorted(zip(found.words, found.attention, strict=True), key=lambda pair: -pair[1])[:5]
        _line("attention: " + ", ".join(f"{word} {share:.2f}" for word, share in attention))
        if coloured:
            typer.echo(f"  {found.highlighted()}")
    for label in found.contributions:
        score = f" {found.scores[label]:.3f}" if label in found.scores else ""
        if label in found.evidence:
            _line(label + score)
            for reason in found.reasons(label):
                _line(f"  {reason}")
            for voter in found.voters.get(label, ())[: _VOTERS * bool(openings)]:
                _line(f"    {voter.row}: {openings.get(voter.row, 'is not in the training data given')}")
        else:
            words = ", ".join(f"{word} {added:+.2f}" for word, added in found.top(label))
            _line(f"{label}{score}: {words}")
            if found.evidence or not found.attention:
                _line("  no candidate: no training document near this one has the label")
        if coloured:
            typer.echo(f"  {found.highlighted(label)}")


def _line(text: str) -> None:
    """Printed without what a document or a label could do to a terminal."""
    from zipfel.explanation import to_terminal

    typer.echo(to_terminal([text], [0.0]))
