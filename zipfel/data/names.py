"""Names of labels and features, one a line, from files beside the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from zipfel.data.dataset import Dataset
from zipfel.data.streams import open_stream
from zipfel.errors import DataError

LABEL_FILES = ("labels.txt", "Y.txt")
FEATURE_FILES = ("features.txt", "Xf.txt")


def with_names_beside(dataset: Dataset, name: str) -> Dataset:
    """Picks up labels.txt (or Y.txt) and features.txt (or Xf.txt) of the right length from the file's folder."""
    folder = Path(name).parent
    if not Path(name).is_file():  # standard input has no folder
        return dataset
    return replace(
        dataset,
        label_names=_beside(folder, LABEL_FILES, dataset.n_labels, Path(name)),
        feature_names=_beside(folder, FEATURE_FILES, dataset.n_features, Path(name)),
    )


def read_names(path: str | Path, count: int, noun: str) -> Sequence[str]:
    """Exactly `count` names, one a line."""
    names = _names(path)
    if len(names) != count:
        raise DataError(f"has {len(names):,} names for {count:,} {noun}", path=str(path))
    return names


def _beside(folder: Path, candidates: tuple[str, ...], count: int, data: Path) -> Sequence[str] | None:
    for path in (folder / name for name in candidates):
        if path.is_file() and path != data and count:
            try:
                names = _names(path)
            except DataError:  # some other file of that name
                continue
            if len(names) == count:
                return names
    return None


def _names(path: str | Path) -> list[str]:
    with open_stream(path) as stream:
        names = [line for _, line in stream.lines()]
    while names and not names[-1]:
        names.pop()
    return names
