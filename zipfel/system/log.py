"""What zipfel logs: the logger `zipfel`, silent unless a program, `verbose=`, -v or ZIPFEL_LOG shows it."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

from zipfel.errors import ParameterError, nearest

LOGGER = logging.getLogger("zipfel")
LEVELS = {"error": logging.ERROR, "warning": logging.WARNING, "info": logging.INFO, "debug": logging.DEBUG}
VARIABLE = "ZIPFEL_LOG"
"""Environment variable with the level that is shown: error, warning, info or debug."""

_FORM = logging.Formatter("%(asctime)s %(levelname)s %(message)s", "%H:%M:%S")


def level_of(verbose: int) -> int:
    """The level that `verbose` shows: 0 warnings, 1 phases and choices, 2 everything.

    >>> level_of(0) == logging.WARNING, level_of(True) == logging.INFO, level_of(3) == logging.DEBUG
    (True, True, True)
    """
    return (logging.WARNING, logging.INFO, logging.DEBUG)[max(0, min(2, int(verbose)))]


def level_wanted() -> int | None:
    """The level that `ZIPFEL_LOG` names; None where it is not set."""
    word = os.environ.get(VARIABLE, "").strip().lower()
    if not word:
        return None
    if word not in LEVELS:
        raise ParameterError(f"{VARIABLE} must be one of {', '.join(LEVELS)}, got {word!r}{nearest(word, LEVELS)}")
    return LEVELS[word]


def show(level: int, handler: logging.Handler | None = None) -> logging.Handler:
    """Shows records from this level on, on standard error unless another handler is given; `hide` ends it."""
    handler = handler or logging.StreamHandler()
    handler.setFormatter(_FORM)
    handler.setLevel(level)
    LOGGER.addHandler(handler)
    LOGGER.setLevel(min(level, LOGGER.getEffectiveLevel()))
    return handler


def hide(handler: logging.Handler) -> None:
    LOGGER.removeHandler(handler)
    LOGGER.setLevel(min((other.level for other in LOGGER.handlers), default=logging.NOTSET))


@contextmanager
def shown(verbose: int) -> Iterator[None]:
    """Inside, what `verbose` or ZIPFEL_LOG asks for is shown; nothing more where it is shown already."""
    level = min(level_of(verbose) if verbose else logging.CRITICAL, level_wanted() or logging.CRITICAL)
    if level == logging.CRITICAL or any(handler.level <= level for handler in LOGGER.handlers):
        yield
        return
    handler = show(level)
    try:
        yield
    finally:
        hide(handler)
