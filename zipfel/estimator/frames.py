"""DataFrames and Series, of pandas, polars or any library like them, as texts, labels and features.

No such library is imported: a frame has `columns` and gives a column for a name; a column has `to_list` or `tolist`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfel.data.documents import LABEL_FIELDS, TEXT_FIELDS, joined_text
from zipfel.errors import DataError, nearest

_MISSING = ("NAType", "NaTType")
_TO_LIST = ("to_list", "to_pylist", "tolist")
Names = str | Sequence[str] | None
"""One column, several, or what the columns themselves say."""


def is_frame(X: Any) -> bool:
    """Whether this is a table with named columns.

    >>> is_frame([1, 2]), is_frame(np.zeros((2, 2)))
    (False, False)
    """
    return hasattr(X, "columns") and hasattr(X, "__getitem__") and (hasattr(X, "__dataframe__") or hasattr(X, "shape"))


def is_column(X: Any) -> bool:
    """Whether this is one column of such a table."""
    return any(hasattr(X, verb) for verb in _TO_LIST) and not isinstance(X, np.ndarray | np.generic)


def frame_texts(frame: Any, text: Names) -> list[str] | None:
    """The text of each row; None for a frame of numbers, which are features.

    text: the column, or the columns whose texts are joined. Without it, a frame's only column is the text if it holds
    texts, or else the column "text".
    """
    there = _names(frame)
    if text is None and not any(_holds_texts(frame, name) for name in there):
        return None
    chosen = _chosen(frame, text)
    columns = [_texts(values(frame[name]), name) for name in chosen]
    return columns[0] if len(columns) == 1 else [joined_text(row) for row in zip(*columns, strict=True)]


def frame_numbers(frame: Any) -> npt.NDArray[np.float64]:
    """(n, columns) of a frame whose columns are all numbers."""
    columns = [np.asarray(frame[name], dtype=np.float64) for name in _names(frame)]
    return np.stack(columns, axis=1) if columns else np.zeros((len(frame), 0))


def frame_labels(frame: Any, labels: str | None) -> list[Any]:
    """The labels of each row, as they stand: the column of that name, or else "labels"."""
    there = _names(frame)
    name = LABEL_FIELDS[0] if labels is None else labels
    if name not in there:
        hint = nearest(name, there) if labels is not None else f" (there is: {', '.join(there)})"
        raise DataError(f"there is no column {name!r} with labels{hint}: name it with labels=")
    return values(frame[name])


def values(column: Any) -> list[Any]:
    """A column as a list; a missing value is None. Nested columns become lists."""
    found = next(getattr(column, verb) for verb in _TO_LIST if hasattr(column, verb))()
    return [None if _is_missing(value) else value for value in found]


def _is_missing(value: Any) -> bool:
    return (
        value is None or (isinstance(value, float) and value != value) or type(value).__name__ in ("NAType", "NaTType")
    )


def _chosen(frame: Any, text: Names) -> list[str]:
    there = _names(frame)
    if text is not None:
        chosen = [text] if isinstance(text, str) else list(text)
        for name in chosen:
            if name not in there:
                raise DataError(
                    f"there is no column {name!r} with texts{nearest(str(name), there)}: name it with text="
                )
        return chosen
    if len(there) == 1 or TEXT_FIELDS[0] in there:
        return [there[0] if len(there) == 1 else TEXT_FIELDS[0]]
    raise DataError(
        f"the DataFrame has {len(there)} columns ({', '.join(map(repr, there[:8]))}): name the one with the texts, "
        f'e.g. text={there[0]!r}, or several, e.g. text=["title", "abstract"]'
    )


def _names(frame: Any) -> list[str]:
    names = [str(name) for name in getattr(frame, "column_names", frame.columns)]
    if len(set(names)) < len(names):
        raise DataError("two columns of the DataFrame have the same name: rename one of them")
    return names


def _holds_texts(frame: Any, name: str) -> bool:
    return any(isinstance(value, str) for value in values(frame[name])[:1000])


def _texts(column: list[Any], name: str) -> list[str]:
    for row, value in enumerate(column):
        if not isinstance(value, str):
            shown = "missing" if value is None else f"{type(value).__name__} {str(value)[:40]!r}"
            raise DataError(
                f"column {name!r}, row {row}: the text is {shown}; every row needs a text, which may be empty"
            )
    return column
