"""Extreme Classification Repository files, old (one file) and new (features and labels apart). Ids count from 0.

Old: a header "N D L", then N lines "l1,l2 f:v f:v". New: two files, each with a header "rows columns" and lines
"column:value"; the labels lie in the second. A row may have no labels (it begins with a space or with a feature) or no
features; explicit zeros are not stored. Names are picked up from files beside it that hold one name a line and have
the right count: labels.txt or Y.txt, and features.txt or Xf.txt.
"""

from __future__ import annotations

import re
from pathlib import Path

import scipy.sparse as sp

from zipfel.data.dataset import Dataset, binary
from zipfel.data.names import with_names_beside
from zipfel.data.plain_rows import MAX_COLUMNS, Layout
from zipfel.data.sparse_rows import Rows, read_rows, report_on
from zipfel.data.streams import Stream, open_stream
from zipfel.errors import DataError

OLD_HEADER = "N D L (rows, features, labels)"
NEW_HEADER = "N D (rows, columns)"

_HEADER = re.compile(rb"[ \t]*[0-9]+(?:[ \t]+[0-9]+){1,2}[ \t\r]*")


def header_numbers(line: bytes) -> list[int]:
    """The two or three numbers of an XMC header, or none where the line is not one."""
    return [int(word[:30]) for word in line.split()] if _HEADER.fullmatch(line) else []


def read_xmc(stream: Stream) -> Dataset:
    """The old format: one file."""
    n_rows, n_features, n_labels = take_header(stream, 3, OLD_HEADER)
    rows = read_rows(stream, Layout(n_features=n_features, n_labels=n_labels, n_rows=n_rows), first_line=2)
    X, Y = rows.X.finish(n_features), rows.Y.finish(n_labels)
    return with_names_beside(
        Dataset(Y=Y, X=X, report=report_on(X, Y, rows.duplicate_features, rows.duplicate_labels)), stream.name
    )


def read_xmc_pair(stream: Stream, labels: str | Path | None) -> Dataset:
    """The new format: features from `stream`, labels from the file `labels`; without one, no row has labels."""
    X, features = _matrix(stream, "feature")
    if labels is None:
        Y, duplicates = sp.csr_matrix((X.shape[0], 0), dtype="float32"), 0
    else:
        with open_stream(labels) as second:
            values, owned = _matrix(second, "label")
            Y, duplicates = binary(values), owned.duplicate_features
        if Y.shape[0] != X.shape[0]:
            raise DataError(
                f"has {Y.shape[0]:,} rows but the features in {stream.name} have {X.shape[0]:,}",
                path=str(labels),
                line=1,
                remedy="give the two files of one part",
            )
    return with_names_beside(
        Dataset(Y=Y, X=X, report=report_on(X, Y, features.duplicate_features, duplicates)), stream.name
    )


def companion(path: str | Path) -> Path:
    """Where the labels of features lie: trn_X_Xf.txt -> trn_X_Y.txt, X_train.npz -> Y_train.npz, a.txt -> a_Y.txt."""
    path = Path(path)
    stem, dot, suffixes = path.name.partition(".")
    if "X_Xf" in stem:
        return path.with_name(stem.replace("X_Xf", "X_Y") + dot + suffixes)
    named, found = re.subn(r"(?<![A-Za-z0-9])X(?![A-Za-z0-9])", "Y", stem)
    return path.with_name((named if found else stem + "_Y") + dot + suffixes)


def _matrix(stream: Stream, noun: str) -> tuple[sp.csr_matrix, Rows]:
    n_rows, width = take_header(stream, 2, NEW_HEADER)
    layout = Layout(has_labels=False, n_features=width, n_rows=n_rows, column_noun=noun)
    rows = read_rows(stream, layout, first_line=2)
    return rows.X.finish(width), rows


def take_header(stream: Stream, count: int, form: str) -> list[int]:
    """Takes the first line off the stream."""
    line, newline, _ = stream.head().partition(b"\n")
    numbers = header_numbers(line)
    if len(numbers) != count:
        shown = line[:40].decode("utf-8", "replace").strip()
        raise DataError(f"the first line must be {form}, got {shown!r}", path=stream.name, line=1)
    for number in numbers[1:]:
        if number > MAX_COLUMNS:
            raise DataError(
                f"the header asks for {number:,} columns; zipfel takes up to {MAX_COLUMNS:,}",
                path=stream.name,
                line=1,
                remedy="correct the header or renumber the columns",
            )
    stream.read(len(line) + len(newline))
    return numbers
