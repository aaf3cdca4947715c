"""The log and the warnings of a command: on standard error, in sentences, each warning once."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from zipfel.cli.console import say
from zipfel.errors import DataWarning
from zipfel.system.log import hide, level_of, level_wanted, show


class _Said(logging.Handler):
    """Records as lines above the progress bar."""

    def emit(self, record: logging.LogRecord) -> None:
        say(self.format(record))


@contextmanager
def logging_to_terminal(verbose: int) -> Iterator[None]:
    """-v shows phases and choices, -vv everything. Without them ZIPFEL_LOG decides."""
    level = level_of(verbose) if verbose else level_wanted()
    if level is None:
        yield
        return
    handler = show(level, _Said())
    try:
        yield
    finally:
        hide(handler)


@contextmanager
def warning_on_terminal() -> Iterator[None]:
    """A `DataWarning` is a sentence, and comes once; other warnings are shown as Python does."""
    before, said = warnings.showwarning, set[str]()

    def tell(message: Any, category: type[Warning], *place: Any, **more: Any) -> None:
        if not issubclass(category, DataWarning):
            before(message, category, *place, **more)
        elif str(message) not in said:
            said.add(str(message))
            say(f"warning: {message}")

    warnings.filterwarnings("always", category=DataWarning)
    warnings.showwarning = tell
    try:
        yield
    finally:
        warnings.showwarning = before
