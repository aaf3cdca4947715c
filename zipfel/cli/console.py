"""How the command line speaks: progress on a terminal's stderr, tables and JSON on stdout, errors in one sentence."""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

import typer

if TYPE_CHECKING:
    from rich.progress import Progress as RichBar
    from rich.progress import TaskID

DATA, MODEL, USAGE, INTERRUPTED = 2, 3, 64, 130
"""Exit codes: what is wrong is the data (or the machine: memory, disk), the model, or the command's words; stopped by
Ctrl-C (SIGTERM: 143)."""
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


def say(text: str) -> None:
    """A remark for the user: on stderr, so that stdout stays what was asked for."""
    typer.echo(printable(text), err=True)


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
        if debug or (told := told_error(error)) is None:
            raise
        fail(*told)


def told_error(error: BaseException) -> tuple[str, int] | None:
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


class TerminalProgress:
    """`run.Progress` with rich's bars, one under another where tasks nest; silent where stderr is no terminal."""

    def __init__(self) -> None:
        self._bars: RichBar | None = None
        self._open = 0
        self._lock = threading.Lock()  # works side by side each have a bar

    def task(self, name: str, total: float | None = None) -> TerminalTask:
        return TerminalTask(self, name, total)

    def message(self, text: str) -> None:
        if self._bars is not None:
            self._bars.console.print(printable(text), markup=False, highlight=False)  # above the bars, not through them
        else:
            say(text)

    def start(self) -> RichBar | None:
        """The bars, on the screen; None where there is no terminal."""
        if not sys.stderr.isatty():
            return None
        with self._lock:
            if self._bars is None:
                self._bars = _bars()
                self._bars.start()
            self._open += 1
            return self._bars

    def end(self) -> None:
        """The last task to end takes the bars from the screen."""
        with self._lock:
            self._open -= 1
            if self._open == 0 and self._bars is not None:
                self._bars.stop()
                self._bars = None


def _bars() -> RichBar:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[shown]}", markup=False),
        console=Console(stderr=True),
        transient=True,
    )


class TerminalTask:
    """One bar; what `advance` is shown (loss, P@1) stands behind it."""

    def __init__(self, progress: TerminalProgress, name: str, total: float | None) -> None:
        self._progress, self._name, self._total = progress, name, total
        self._bars: RichBar | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> TerminalTask:
        self._bars = self._progress.start()
        if self._bars is not None:
            self._task = self._bars.add_task(self._name, total=self._total, shown="")
        return self

    def advance(self, amount: float = 1, **shown: float | str) -> None:
        if self._bars is None or self._task is None:
            return
        self._bars.advance(self._task, amount)
        if shown:
            words = (f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in shown.items())
            self._bars.update(self._task, shown=" ".join(words))

    def __exit__(self, *error: object) -> None:
        if self._bars is not None and self._task is not None:
            self._bars.remove_task(self._task)
            self._progress.end()
