"""Output of the command line: progress on a terminal's stderr, tables and JSON on stdout, errors in one sentence."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import typer

DATA, MODEL, USAGE, INTERRUPTED = 2, 3, 64, 130
"""Exit codes for errors in the data (or of the machine: memory, disk), in the model and in the command, and for Ctrl-C
(SIGTERM: 143)."""
UsageError: Any = typer.BadParameter.__base__  # click's own, wherever this version of typer keeps it


SCHEMA = 1
"""Version of what `--json` prints. It grows when a key goes or means something else, not when one is added."""

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that command a terminal, or turn the direction of the text around them."""


def printable(text: str) -> str:
    """The text without what could command a terminal; tabs and line ends stay.

    >>> printable("\\x1b[31mred")
    '[31mred'
    """
    return _CONTROLS.sub("", text)


def one_line(text: str) -> str:
    """`printable`, with single spaces in place of tabs and line ends."""
    return printable(" ".join(text.split()))


above_the_bar: list[Callable[[str], None]] = []
"""Where a progress bar is on the screen, what prints above it."""


def say(text: str) -> None:
    """A remark for the user: on stderr, so that stdout stays what was asked for."""
    if above_the_bar:
        above_the_bar[-1](printable(text))
    else:
        typer.echo(printable(text), err=True)


def tell(text: str) -> None:
    """An answer for people, on stdout: `printable`, wherever that leads to."""
    typer.echo(printable(text))


def json_text(value: Mapping[str, Any]) -> str:
    """One line of JSON that begins with the schema's version; control characters are escaped."""
    text = json.dumps({"schema": SCHEMA, **value}, ensure_ascii=False)
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def print_json(value: Mapping[str, Any]) -> None:
    typer.echo(json_text(value))


def fail(message: str, code: int = DATA) -> NoReturn:
    typer.echo(f"zipfel: {one_line(message)}", err=True)
    sys.exit(code)


def _fail_usage(error: Any) -> NoReturn:
    """A wrong option or argument; where there is none at all, typer has shown the help already."""
    if type(error).__name__ == "NoArgsIsHelpError":
        typer.echo(error.format_message())
        sys.exit(USAGE)
    path = error.ctx.command_path if error.ctx is not None else "zipfel"
    fail(f"{error.format_message().rstrip('.')} (`{path} --help` tells more)", USAGE)


def run_guarded(command: Callable[[], Any], *, debug: bool) -> None:
    """Turns errors into one sentence and an exit code; `--debug` shows where they came from."""
    from zipfel.cli.stopping import supervised

    try:
        supervised(command)
    except UsageError as error:
        _fail_usage(error)
    except BrokenPipeError:
        sys.stderr.close()  # the reader, e.g. `head`, has seen enough
        sys.exit(0)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except Exception as error:
        if debug or (message := error_message(error)) is None:
            raise
        fail(*message)


def error_message(error: BaseException) -> tuple[str, int] | None:
    """The sentence and the exit code for an error that a user can do something about; None for a fault of ours."""
    from zipfel.errors import ModelFileError, NotFittedError, ParameterError, ZipfelError

    if isinstance(error, ZipfelError):
        kinds = {ModelFileError: MODEL, NotFittedError: MODEL, ParameterError: USAGE}
        return str(error), next((code for kind, code in kinds.items() if isinstance(error, kind)), DATA)
    if isinstance(error, MemoryError):
        small = "take a smaller part with `zipfel data sample`, or a smaller dim or batch"
        return f"this does not fit in memory: {small}", DATA
    if isinstance(error, OSError):
        return (f"{error.filename}: {error.strerror}" if error.filename else str(error)), DATA
    return None
