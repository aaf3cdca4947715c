"""Errors that a user can correct. A message says what is wrong, the rule, the value, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path


class ZipfelError(Exception):
    """Base of every error that zipfel raises on purpose. The command line prints its sentence without a traceback.

    >>> issubclass(DataError, ZipfelError)
    True
    """


class DataError(ZipfelError, ValueError):
    """A data file or array that breaks the rules of its format. The message has the place and the remedy.

    message: what is wrong; path, line: where; remedy: what to do.

    >>> str(DataError("labels must be a list", path="train.jsonl", line=2, remedy='["one", "two"]'))
    'train.jsonl:2: labels must be a list (["one", "two"])'
    """

    def __init__(
        self, message: str, *, path: str | Path | None = None, line: int | None = None, remedy: str = ""
    ) -> None:
        self.path, self.line, self.remedy = path, line, remedy
        place = f"{path}:{line}: " if path and line else f"{path}: " if path else f"line {line}: " if line else ""
        super().__init__(place + message + (f" ({remedy})" if remedy else ""))


class DataWarning(UserWarning):
    """A warning about data that can be used and probably contain a mistake.

    >>> import warnings
    >>> warnings.simplefilter("error", DataWarning)  # makes it an error
    """


class ParameterError(ZipfelError, ValueError):
    """A parameter with an unknown name or a value outside its constraints.

    >>> from zipfel import Zipfel
    >>> Zipfel("knn", n_neighbours=5).fit(["a red bike"], [["bike"]])
    Traceback (most recent call last):
    ...
    zipfel.errors.ParameterError: ... (did you mean 'n_neighbors'?)
    """


class NotFittedError(ZipfelError, ValueError, AttributeError):
    """A call that needs a fitted model.

    >>> from zipfel import Zipfel
    >>> Zipfel().predict(["a red bike"])
    Traceback (most recent call last):
    ...
    zipfel.errors.NotFittedError: this Zipfel is not fitted yet: call fit first, or Zipfel.load(folder)
    """


class ModelFileError(ZipfelError, ValueError):
    """A model folder that is truncated, altered, of a newer version, or not a model.

    >>> from zipfel import Zipfel
    >>> Zipfel.load("no/such/folder")
    Traceback (most recent call last):
    ...
    zipfel.errors.ModelFileError: ...
    """


class SaveError(ModelFileError):
    """A model that cannot be written to its folder. The message says why, and where the model is instead.

    >>> issubclass(SaveError, ModelFileError)
    True
    """


class ResourceError(ZipfelError, MemoryError):
    """A job that does not fit into memory. Raised before the work starts.

    >>> issubclass(ResourceError, MemoryError)
    True
    """


class MissingExtraError(ZipfelError, ImportError):
    """An optional package that is not installed. The message has the pip command.

    package: the missing one; extra: the extra of zipfel that has it; purpose: what needs it.

    >>> str(MissingExtraError("ray", "scale", "--workers"))
    "--workers needs the package 'ray': pip install 'zipfel[scale]'"
    """

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs the package {package!r}: pip install 'zipfel[{extra}]'")


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint such as " (did you mean 'knn'?)", or the list of known words if none is similar.

    word: what was given; known: what there is.

    >>> nearest("kn", ["knn", "ova"])
    " (did you mean 'knn'?)"
    """
    known = sorted(known)
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    if close:
        return f" (did you mean {close[0]!r}?)"
    return f" (there is: {', '.join(known)})" if known else ""
