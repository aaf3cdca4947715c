"""Data that comes with the package: `load("debian-tags")`.

debian-tags: package descriptions of Debian bookworm (main) and their debtags. There are 18,621 training documents,
4,432 test documents and 579 tags. The split is by source package, so that gcc-11 and gcc-12 are in the same part. Made
by scripts/build_debian_data.py from Debian's package index; each description is under its package's licence.
"""

from __future__ import annotations

import io
from importlib import resources
from pathlib import Path

from zipfel.data import Dataset, read
from zipfel.errors import DataError, nearest

NAMES = ("debian-tags",)

EXAMPLES = {
    "debian-tags": [
        "A fast and small web browser for the terminal, written in C, with support for frames and tables",
        "Python 3 library to read and write audio files such as FLAC and Ogg Vorbis",
        "Role-playing game in which you explore a dungeon and fight monsters",
    ]
}
"""Texts without labels, for demos."""


def load(name: str) -> tuple[Dataset, Dataset]:
    """(train, test) of a bundled data set, with the same label columns.

    name: "debian-tags".

    >>> train, test = load("debian-tags")
    >>> train.n_points, test.n_points
    (18621, 4432)
    """
    _check(name)
    train, test = (_read(f"{name}.{part}.jsonl.zst") for part in ("train", "test"))
    assert train.label_names is not None
    return train, test.relabel(train.label_names, extend=True)


def write(name: str, part: str, target: Path) -> int:
    """Writes one part of a bundled data set as a JSONL file. Returns the number of its documents.

    name: "debian-tags". part: "train" or "test". target: the file; it must not exist.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write("debian-tags", "test", Path(folder) / "test.jsonl")
    4432
    """
    import zstandard

    _check(name)
    with resources.as_file(resources.files(__package__) / f"{name}.{part}.jsonl.zst") as path, path.open("rb") as file:
        lines = io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(file))
        with target.open("xb") as out:
            return sum(out.write(line) > 0 for line in lines)


def _check(name: str) -> None:
    if name not in NAMES:
        raise DataError(f"there is no bundled data set {name!r}{nearest(name, NAMES)}")


def _read(file: str) -> Dataset:
    with resources.as_file(resources.files(__package__) / file) as path:
        return read(str(path))
