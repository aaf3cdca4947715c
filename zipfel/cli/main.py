"""`zipfel` and its commands. Thin: parse, call, print; heavy imports wait."""

from __future__ import annotations

import io
import sys
from contextlib import ExitStack

import typer

from zipfel import __version__
from zipfel.cli import bench, bundled, data, explain, fit, inspect, labels, predict, report, serve, update
from zipfel.cli.console import run_guarded

DEBUG, TRUST = "--debug", "--trust-data"

app = typer.Typer(
    name="zipfel",
    help="Tag documents with the right few of a thousand to millions of labels.\n\n"
    "First steps:  zipfel demo   |   zipfel fit train.jsonl --out model --test test.jsonl   |   "
    'echo "a text" | zipfel predict model -',
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("fit")(fit.fit)
app.command("evaluate")(predict.evaluate)
app.command("predict")(predict.predict)
app.command("explain")(explain.explain)
app.command("update")(update.update)
app.command("report")(report.report)
app.command("serve")(serve.serve)
app.command("info")(inspect.info)
app.command("methods")(inspect.methods)
app.command("demo")(fit.demo)
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
    debug: bool = typer.Option(False, DEBUG, help="Show tracebacks (may stand anywhere)."),
    trust: bool = typer.Option(False, TRUST, help="Read data files beyond the limits on what small files may become."),
) -> None:
    """Options of all commands."""


def main() -> None:
    """The console script: `--debug` and `--trust-data` work wherever they stand in the line."""
    for stream in (sys.stdout, sys.stderr):  # a name that the terminal's encoding lacks is no reason to end
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    words = [word for word in sys.argv[1:] if word not in (DEBUG, TRUST)]
    run_guarded(lambda: _run(words, trust=TRUST in sys.argv), debug=DEBUG in sys.argv)


def _run(words: list[str], *, trust: bool) -> None:
    """Runs the command; what it trusts is a matter of the thread, so it is said here."""
    with ExitStack() as stack:
        if trust:
            from zipfel.data.limits import trusting

            stack.enter_context(trusting())
        app(words, standalone_mode=False)
