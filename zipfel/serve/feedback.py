"""Accepted and rejected suggestions in an SQLite file, from which `zipfel update --feedback` learns."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from zipfel.errors import DataError

_TABLE = """CREATE TABLE IF NOT EXISTS feedback (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at TEXT NOT NULL,
    model TEXT NOT NULL,
    text TEXT NOT NULL,
    label TEXT NOT NULL,
    accepted INTEGER CHECK (accepted IN (0, 1))
)"""
"""accepted: 1, or 0 for rejected; none where an earlier verdict is taken back."""


def feedback_path(folder: Path) -> Path:
    """Beside the model folder."""
    place = folder.absolute()
    return place.parent / f"{place.name}.feedback.sqlite"


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection; what is written in the block is on disk at its end, or not at all."""
    try:
        with closing(sqlite3.connect(path, timeout=10)) as connection, connection:
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute(_TABLE)
            yield connection
    except sqlite3.DatabaseError as error:
        raise DataError(f"the feedback can't be read or written ({error})", path=path) from None


def add_feedback(
    path: Path, model: str, text: str, accepted: Sequence[str], rejected: Sequence[str], withdrawn: Sequence[str] = ()
) -> int:
    """Keeps what a person thinks of labels for a text; returns how many verdicts there were.

    withdrawn: labels about which the person thinks nothing any more.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "feedback.sqlite"
    >>> add_feedback(file, "m", "a red bike", ["bike"], ["boat"])
    2
    >>> read_feedback(file).texts, read_feedback(file).tags
    (['a red bike'], [['bike']])
    """
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    verdicts = ((1, accepted), (0, rejected), (None, withdrawn))
    rows = [(stamp, model, text, label, good) for good, labels in verdicts for label in labels]
    with _opened(path) as connection:
        connection.executemany("INSERT INTO feedback (at, model, text, label, accepted) VALUES (?, ?, ?, ?, ?)", rows)
    return len(rows)


@dataclass(frozen=True)
class Feedback:
    """Texts with the labels that people accepted. last: number of the last verdict that is in here.

    n_rejected: verdicts against a label; n_without: texts without an accepted label, which are left out.
    """

    texts: list[str]
    tags: list[list[str]]
    last: int
    n_rejected: int = 0
    n_without: int = 0


def read_feedback(path: Path, after: int = 0) -> Feedback:
    """Verdicts with a larger number than `after`; of several on one label of one text the last one holds."""
    if not path.is_file():
        raise DataError("there is no such file", path=path)
    verdicts: dict[str, dict[str, bool | None]] = {}
    last = after
    with _opened(path) as connection:
        query = "SELECT id, text, label, accepted FROM feedback WHERE id > ? ORDER BY id"
        for number, text, label, accepted in connection.execute(query, (after,)):
            last = max(last, int(number))
            verdicts.setdefault(str(text), {})[str(label)] = None if accepted is None else bool(accepted)
    found = {text: [label for label, good in labels.items() if good] for text, labels in verdicts.items()}
    kept = {text: labels for text, labels in found.items() if labels}
    n_rejected = sum(good is False for labels in verdicts.values() for good in labels.values())
    return Feedback(list(kept), list(kept.values()), last, n_rejected, len(found) - len(kept))
