"""`zipfel report`: a self-contained HTML page about a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zipfel.cli.console import say
from zipfel.cli.embeddings import load_with, with_file
from zipfel.cli.fields import Fields, with_file_options
from zipfel.cli.fit import read_and_report
from zipfel.cli.options import Embeddings, Encoder, Model
from zipfel.errors import ParameterError


@with_file_options
def report(
    model: Model,
    test: Annotated[str, typer.Argument(help="Documents with true labels that the model was not trained on.")],
    html: Annotated[Path, typer.Option(help="Write the page to this file.")] = Path("report.html"),
    k: Annotated[int, typer.Option("-k", min=1, help="Labels of each document that count as predicted.")] = 5,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is no report of zipfel.")] = False,
    embeddings: Embeddings = None,
    encoder: Encoder = None,
    *,
    fields: Fields,
) -> None:
    """Write an HTML page: metrics by label frequency, calibration, labels, worst documents, training, gains of parts.

    The page is one file. It needs no network and no server.

    zipfel report model test.jsonl --html report.html
    """
    from zipfel.data import read
    from zipfel.report import model_report

    _check(html, force=force)
    data = read_and_report(read, test, fields, silent=True)
    title = f"zipfel report: {model.name} on {Path(test).name}"
    page = model_report(load_with(model, encoder), with_file(data, embeddings), k=k, title=title)
    html.write_text(page, encoding="utf-8", errors="replace")
    say(f"the report is in {html}")


def _check(html: Path, *, force: bool) -> None:
    """Refuses to write where a page can't be, or would replace something else, before anything is computed."""
    if not html.parent.is_dir():
        raise ParameterError(f"--html: the folder {html.parent} does not exist; make it first")
    if html.is_dir():
        raise ParameterError(f"--html: {html} is a folder; name a file")
    if html.exists() and not force and b"<title>zipfel report" not in html.read_bytes()[:400]:
        raise ParameterError(f"--html: {html} exists and is no report of zipfel; name another file, or add --force")
