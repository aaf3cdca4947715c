"""`zipfel explain`: the words of a document that speak for its labels."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zipfel.cli.console import print_json, say
from zipfel.cli.options import Model

if TYPE_CHECKING:
    from zipfel.methods.explanation import Explained


def explain(
    model: Model,
    text: Annotated[str, typer.Argument(help="One document; - reads it from standard input.")],
    k: Annotated[int, typer.Option("-k", min=1, help="Labels to explain: the k best.")] = 5,
    label: Annotated[list[str] | None, typer.Option(help="Explain this label instead; may be repeated.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page with the highlighted text to this file.")] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object: words, labels, contributions.")] = False,
) -> None:
    """Say which words of a document speak for its labels, and what attention makes of them.

    zipfel explain model "a fast text editor for the terminal" --html why.html
    """
    from zipfel.classifier import Zipfel

    document = sys.stdin.read() if text == "-" else text
    found = Zipfel.load(model).explain(document, labels=label, k=k)
    if html is not None:
        html.write_text(found.to_html(), encoding="utf-8", errors="replace")
        say(f"the highlighted text is in {html}")
    if json:
        print_json(found.to_dict())
    else:
        _print(found, coloured=sys.stdout.isatty())


def _print(found: Explained, *, coloured: bool) -> None:
    """For each label its words, strongest first; on a terminal the text as well, highlighted."""
    from zipfel.methods.explanation import to_terminal

    if not found.words:
        typer.echo("the model knows none of this document's words")
    attention = sorted(zip(found.words, found.attention, strict=True), key=lambda pair: -pair[1])[:5]
    lines: list[tuple[str, list[str], str | None]] = [
        ("attention", [f"{word} {share:.2f}" for word, share in attention], None)
    ]
    for label in found.contributions:
        score = f" {found.scores[label]:.3f}" if label in found.scores else ""
        lines.append((label + score, [f"{word} {added:+.2f}" for word, added in found.top(label)], label))
    for title, words, name in lines:
        typer.echo(to_terminal([title + ": " + ", ".join(words)], [0.0]))
        if coloured:
            typer.echo(f"  {found.highlighted(name)}")
