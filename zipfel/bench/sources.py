"""The data of a benchmark: found, read, and made into the rows that every system gets."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from zipfel import datasets
from zipfel.data import Dataset, read, write
from zipfel.data.packed import MANIFEST, is_packed
from zipfel.errors import DataError, ParameterError
from zipfel.estimator.rows import RowMaker
from zipfel.run import Run
from zipfel.system.threads import use_threads

PREFERRED = (".txt", ".svm", ".libsvm", ".arff", ".npz", ".jsonl", ".csv", ".tsv", ".parquet")
"""Where a folder has the same data twice, packed data come first, and ready-made rows before raw text."""

PARTS = ("train", "test")


@dataclass(frozen=True)
class Source:
    """A data set to run on: its name and its two files; none where it is bundled."""

    name: str
    files: tuple[Path, Path] | None = None

    def stamp(self, weighting: str) -> list[Any]:
        """Changes when the rows have to be made anew."""
        if self.files is None:
            return [self.name, weighting]
        facts = [(file.resolve(), (file / MANIFEST if file.is_dir() else file).stat()) for file in self.files]
        return [weighting, *((str(file), found.st_size, found.st_mtime_ns) for file, found in facts)]


@dataclass(frozen=True)
class Rows:
    """Rows of one data set on disk, as every system reads them; `fingerprint` tells which they are."""

    name: str
    folder: Path
    fingerprint: str

    def matrix(self, part: str, what: str) -> sp.csr_matrix:
        return sp.csr_matrix(sp.load_npz(self.folder / f"{part}.{what}.npz"))


def find_source(word: str) -> Source:
    """A folder with train.* and test.*, files or packed data, a pair TRAIN,TEST, or the name of a bundled data set."""
    first, comma, second = word.partition(",")
    if comma:
        files = Path(first), Path(second)
        for file in files:
            if not file.is_file() and not is_packed(file):
                raise DataError("there is no such file", path=file, remedy="a pair is TRAIN,TEST")
        return Source(files[0].resolve().parent.name, files)
    folder = Path(word)
    if folder.is_dir():
        return Source(folder.resolve().name, (_part(folder, "train"), _part(folder, "test")))
    if word in datasets.NAMES:
        return Source(word)
    raise DataError(
        f"{word} is no folder with train and test files, no pair TRAIN,TEST, and none of the bundled "
        f"{', '.join(datasets.NAMES)}"
    )


def find_sources(words: Sequence[str]) -> list[Source]:
    found = [find_source(word) for word in words]
    names = [source.name for source in found]
    for name in names:
        if names.count(name) > 1:
            raise ParameterError(f"two data sets are called {name!r}: rename a folder, their results would be mixed up")
    return found


def _part(folder: Path, part: str) -> Path:
    found = [file for file in sorted(folder.glob(f"{part}*")) if _rank(file) < len(PREFERRED)]
    found = [file for file in found if file.name.partition(".")[0] == part]
    if not found:
        raise DataError(f"there is no {part} file in it", path=folder, remedy=f"e.g. {part}.txt or {part}.jsonl.gz")
    return min(found, key=_rank)


def _rank(file: Path) -> int:
    if is_packed(file):
        return 0
    suffixes = [suffix for suffix in file.suffixes if suffix not in (".gz", ".zst")]
    return PREFERRED.index(suffixes[-1]) if suffixes and suffixes[-1] in PREFERRED else len(PREFERRED)


def prepare(source: Source, out: Path, weighting: str, threads: int) -> Rows:
    """Reads the data and writes its rows, unless that was done before.

    Texts become TF-IDF rows; ready-made features are weighted (auto: chosen on a split of train). Rows have length 1.
    """
    folder, facts = out / "rows" / source.name, out / "rows" / source.name / "facts.json"
    stamp = json.loads(json.dumps(source.stamp(weighting)))
    if facts.is_file():
        known = json.loads(facts.read_text())
        if known["stamp"] == stamp:
            return Rows(source.name, folder, known["fingerprint"])
    train, test = _read(source)
    maker = RowMaker()
    with use_threads(threads):
        X = maker.fit_transform(train, Run(threads=threads), weighting=weighting)
        made = Dataset(train.Y, X), Dataset(test.Y, maker.transform(test))
    folder.mkdir(parents=True, exist_ok=True)
    for part, dataset in zip(PARTS, made, strict=True):
        for what, matrix in (("X", dataset.X), ("Y", dataset.Y)):
            sp.save_npz(folder / f"{part}.{what}.npz", matrix, compressed=False)
    has_features = np.flatnonzero(np.diff(X.indptr))
    write(
        made[0].take(has_features), folder / "train.txt", format="xmc"
    )  # omikuji's; it refuses a row without features
    fingerprint = made[0].fingerprint()[:16]
    kind = "tfidf of texts" if maker.vectorizer is not None else maker.weighting.kind
    facts.write_text(json.dumps({"stamp": stamp, "fingerprint": fingerprint, "weighting": kind}))
    return Rows(source.name, folder, fingerprint)


def _read(source: Source) -> tuple[Dataset, Dataset]:
    """Train and test with the same label columns; labels that only test has stand behind the others."""
    if source.files is None:
        return datasets.load(source.name)
    train, test = (read(file) for file in source.files)
    if train.label_names is not None and test.label_names is not None:
        test = test.relabel(train.label_names, extend=True)
    return train, test


def label_counts(rows: Rows) -> tuple[np.ndarray, int]:
    """Training points of each label, and of all."""
    Y = rows.matrix("train", "Y")
    return np.bincount(Y.indices, minlength=Y.shape[1]), int(Y.shape[0])
