"""What the user did wrong, in words: what is wrong, the rule, the value that came, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path


class ZipfelError(Exception):
    """Base of every error that zipfel raises on purpose; the command line prints it in one sentence."""


class DataError(ZipfelError, ValueError):
    """A data file or array that breaks the rules of its format; names the place and the remedy."""

    def __init__(
        self, message: str, *, path: str | Path | None = None, line: int | None = None, remedy: str = ""
    ) -> None:
        self.path, self.line, self.remedy = path, line, remedy
        place = f"{path}:{line}: " if path and line else f"{path}: " if path else f"line {line}: " if line else ""
        super().__init__(place + message + (f" ({remedy})" if remedy else ""))


class DataWarning(UserWarning):
    """Data that can be used, but that look as if they were not what the user thinks they are."""


class ParameterError(ZipfelError, ValueError):
    """A parameter with an unknown name or a value outside of its constraints."""


class NotFittedError(ZipfelError, ValueError, AttributeError):
    """A model was asked for something that only a fitted model has."""


class ModelFileError(ZipfelError, ValueError):
    """A model folder that is truncated, altered, of a newer version, or not a model."""


class SaveError(ModelFileError):
    """A model can't be written where it should be; says why, and where it is instead."""


class ResourceError(ZipfelError, MemoryError):
    """The job would not fit in this machine's memory; raised before the work starts."""


class MissingExtraError(ZipfelError, ImportError):
    """An optional package is not installed; names the pip command."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs the package {package!r}: pip install 'zipfel[{extra}]'")


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint such as " (did you mean 'knn'?)", or the list of what there is when nothing is near."""
    known = sorted(known)
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    if close:
        return f" (did you mean {close[0]!r}?)"
    return f" (there is: {', '.join(known)})" if known else ""
