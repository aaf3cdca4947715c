"""`zipfel` and its commands. Thin: parse, call, print; heavy imports wait."""

from __future__ import annotations

import io
import sys
from contextlib import ExitStack

import typer

from zipfel import __version__
from zipfel.cli import (
    bench,
    bundled,
    data,
    evaluate,
    explain,
    fit,
    inspect,
    labels,
    predict,
    report,
    serve,
    tune,
    update,
)
from zipfel.cli.console import run_guarded

DEBUG, TRUST = "--debug", "--trust-data"

app = typer.Typer(
    name="zipfel",
    help="Tag documents with the right few of a thousand to millions of labels.\n\n"
    "First steps:  zipfel demo   |   zipfel fit train.jsonl --out model --test test.jsonl   |   "
    'echo "a text" | zipfel predict model -',
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("fit")(fit.fit)
app.command("evaluate")(evaluate.evaluate)
app.command("calibrate")(evaluate.calibrate)
app.command("predict")(predict.predict)
app.command("explain")(explain.explain)
app.command("update")(update.update)
app.command("report")(report.report)
app.command("serve")(serve.serve)
app.command("info")(inspect.info)
app.command("methods")(inspect.methods)
app.command("demo")(fit.demo)
app.command("tune")(tune.tune)
app.command("bench")(bench.bench)
data.app.command("bundled")(bundled.bundled)
app.add_typer(data.app, name="data")
app.add_typer(labels.app, name="labels")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"zipfel {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Print the version."),
    verbose: int = typer.Option(
        0, "-v", "--verbose", count=True, show_default=False, help="Log phases and choices; -vv: all."
    ),
    debug: bool = typer.Option(False, DEBUG, help="Show tracebacks."),
    trust: bool = typer.Option(False, TRUST, help="Read data files beyond the limits on what small files may become."),
) -> None:
    """Options of all commands; these may stand anywhere in the line."""


ANYWHERE = {DEBUG: 0, TRUST: 0, "-v": 1, "--verbose": 1, "-vv": 2}
"""Options that are taken wherever they stand in the line, up to a "--", with how much more they log."""


def main() -> None:
    """The console script."""
    for stream in (sys.stdout, sys.stderr):  # a name that the terminal's encoding lacks is no reason to end
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    words, flags = without_flags(sys.argv[1:])
    run_guarded(lambda: _run(words, flags), debug=DEBUG in flags)


def without_flags(words: list[str]) -> tuple[list[str], list[str]]:
    """(the other words, the flags of `ANYWHERE` that were among them).

    >>> without_flags(["fit", "-v", "train.jsonl", "--debug"]), without_flags(["explain", "m", "--", "-v"])
    ((['fit', 'train.jsonl'], ['-v', '--debug']), (['explain', 'm', '--', '-v'], []))
    """
    end = words.index("--") if "--" in words else len(words)
    flags = [word for word in words[:end] if word in ANYWHERE]
    return [word for place, word in enumerate(words) if place >= end or word not in ANYWHERE], flags


def _run(words: list[str], flags: list[str]) -> None:
    """Runs the command; its log and its warnings go to standard error. Trust in data files is set for each thread, so
    it is set here."""
    from zipfel.cli.telling import logging_to_terminal, warning_on_terminal

    with ExitStack() as stack:
        stack.enter_context(logging_to_terminal(sum(ANYWHERE[flag] for flag in flags)))
        stack.enter_context(warning_on_terminal())
        if TRUST in flags:
            from zipfel.data.limits import trusting

            stack.enter_context(trusting())
        app(words, standalone_mode=False, prog_name="zipfel")
