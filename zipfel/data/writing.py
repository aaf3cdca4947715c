"""`write`: data sets to XMC (old and new), svmlight, ARFF, JSON lines, CSV and fastText; whole or not at all."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.data import formats
from zipfel.data.dataset import Dataset
from zipfel.data.files import write_files
from zipfel.data.names import FEATURE_FILES, LABEL_FILES
from zipfel.data.streams import bare_suffix
from zipfel.data.writing_texts import delimited_lines, fasttext_lines, texts_of
from zipfel.data.xmc import companion
from zipfel.errors import DataError, ParameterError, nearest

WRITABLE = (formats.XMC, formats.XMC_PAIR, formats.SVMLIGHT, formats.ARFF, formats.JSONL, formats.CSV, formats.FASTTEXT)
_BY_SUFFIX = {
    ".csv": formats.CSV,
    ".tsv": formats.CSV,
    ".npz": formats.NPZ,
    ".parquet": formats.PARQUET,
    ".svm": formats.SVMLIGHT,
    ".libsvm": formats.SVMLIGHT,
    ".svmlight": formats.SVMLIGHT,
    ".arff": formats.ARFF,
    ".jsonl": formats.JSONL,
    ".ndjson": formats.JSONL,
    ".ft": formats.FASTTEXT,
    ".fasttext": formats.FASTTEXT,
}
_ROWS = 8192

Files = list[tuple[Path, Iterator[str]]]


def write(
    dataset: Dataset,
    path: str | Path,
    *,
    format: str = "auto",  # noqa: A002 - the word users look for
    labels: str | Path | None = None,
) -> list[Path]:
    """Writes a dataset and returns the files made: all of them appear or none. Suffixes .gz and .zst compress.

    path: the file. format: one of `WRITABLE`, or "auto" to go by the name of the file. labels: where the second file
    goes, the labels of "xmc-pair" or the XML of "arff"; by default beside the first. What a format has no place for
    (texts in XMC, names in svmlight) is left out; `write_names` makes a labels.txt.

    >>> from tempfile import TemporaryDirectory
    >>> from zipfel.data import read, synth
    >>> with TemporaryDirectory() as folder:
    ...     files = write(synth(20, 100, 10), f"{folder}/small.txt.gz")
    ...     read(files[0]).n_points
    20
    """
    path = Path(path)
    second = None if labels is None else Path(labels)
    return write_files(_WRITERS[format_of(path, format)](dataset, path, second))


def format_of(path: str | Path, format: str = "auto") -> str:  # noqa: A002 - the word users look for
    """The format that `write` uses. "auto" chooses by the suffix, and XMC for an unknown suffix."""
    kind = _BY_SUFFIX.get(bare_suffix(path), formats.XMC) if format == "auto" else format
    if kind not in WRITABLE:
        raise ParameterError(f"cannot write the format {kind!r}{nearest(kind, WRITABLE)}")
    return kind


def write_names(dataset: Dataset, folder: str | Path, *, overwrite: bool = True) -> list[Path]:
    """Writes labels.txt and features.txt, as far as a dataset has names: `read` uses them beside an XMC file.

    folder: where they go. overwrite: whether files that are there are replaced.

    >>> from tempfile import TemporaryDirectory
    >>> from zipfel.data import label_matrix
    >>> data = Dataset(label_matrix([0], [0], (1, 1)), texts=["a boat"], label_names=["boat"])
    >>> with TemporaryDirectory() as folder:
    ...     [path.read_text() for path in write_names(data, folder)]
    ['boat\\n']
    """
    files: Files = []
    for names, file in ((dataset.label_names, LABEL_FILES[0]), (dataset.feature_names, FEATURE_FILES[0])):
        if names is not None and (overwrite or not (Path(folder) / file).exists()):
            files.append((Path(folder) / file, (re.sub(r"[\r\n]+", " ", name) + "\n" for name in names)))
    return write_files(files)


def _xmc(dataset: Dataset, path: Path, second: Path | None) -> Files:  # noqa: ARG001 - one file
    X = _features(dataset, path)
    header = f"{dataset.n_points} {dataset.n_features} {dataset.n_labels}\n"
    return [(path, _with_header(header, (f"{y} {x}\n" for y, x in zip(_labels(dataset.Y), _pairs(X), strict=True))))]


def _xmc_pair(dataset: Dataset, path: Path, second: Path | None) -> Files:
    X = _features(dataset, path)
    return [
        (file, _with_header(f"{matrix.shape[0]} {matrix.shape[1]}\n", _lines(matrix)))
        for file, matrix in ((path, X), (second or companion(path), dataset.Y))
    ]


def _svmlight(dataset: Dataset, path: Path, second: Path | None) -> Files:  # noqa: ARG001 - one file
    X = _features(dataset, path)
    return [(path, (f"{y} {x}\n" for y, x in zip(_labels(dataset.Y), _pairs(X), strict=True)))]


def _jsonl(dataset: Dataset, path: Path, second: Path | None) -> Files:  # noqa: ARG001 - one file
    return [(path, _objects(dataset))]


def _objects(dataset: Dataset) -> Iterator[str]:
    names = dataset.label_names
    features = _entries(dataset.X) if dataset.X is not None and dataset.texts is None else None
    for i, (labels, _) in enumerate(_entries(dataset.Y)):
        row: dict[str, object] = {} if dataset.ids is None else {"id": dataset.ids[i]}
        if dataset.texts is not None:
            row["text"] = dataset.texts[i]
        if features is not None:
            columns, values = next(features)
            row["features"] = {str(c): float(v) for c, v in zip(columns, values, strict=True)}
        row["labels"] = [str(label) if names is None else names[label] for label in labels]
        yield json.dumps(row, ensure_ascii=False) + "\n"


def _csv(dataset: Dataset, path: Path, second: Path | None) -> Files:  # noqa: ARG001 - one file
    texts_of(dataset, path)
    return [(path, delimited_lines(dataset, path, "\t" if bare_suffix(path) == ".tsv" else ","))]


def _fasttext(dataset: Dataset, path: Path, second: Path | None) -> Files:  # noqa: ARG001 - one file
    texts_of(dataset, path)
    return [(path, fasttext_lines(dataset, path))]


def _arff(dataset: Dataset, path: Path, second: Path | None) -> Files:
    X = _features(dataset, path)
    features = _unique(dataset.feature_names or [f"f{i}" for i in range(dataset.n_features)], set())
    labels = _unique(dataset.label_names or [f"l{i}" for i in range(dataset.n_labels)], {*features})
    xml = second or path.with_name(re.sub(r"\.arff(\.gz|\.zst)?$", "", path.name, flags=re.IGNORECASE) + ".xml")
    return [(path, _relation(dataset, X, features, labels)), (xml, _label_xml(labels))]


def _relation(dataset: Dataset, X: sp.csr_matrix, features: list[str], labels: list[str]) -> Iterator[str]:
    yield f"@relation {_quoted(f'{dataset.name}: -C -{len(labels)}')}\n\n"
    yield from (f"@attribute {_quoted(name)} numeric\n" for name in features)
    yield from (f"@attribute {_quoted(name)} {{0,1}}\n" for name in labels)
    yield "\n@data\n"
    for (columns, values), (owned, _) in zip(_entries(X), _entries(dataset.Y), strict=True):
        cells = [f"{c} {v}" for c, v in zip(columns, values, strict=True)]
        yield "{" + ",".join(cells + [f"{len(features) + label} 1" for label in owned]) + "}\n"


def _label_xml(labels: list[str]) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="utf-8"?>\n<labels xmlns="http://mulan.sourceforge.net/labels">\n'
    yield from (f"<label name={quoteattr(name)}></label>\n" for name in labels)
    yield "</labels>\n"


_WRITERS: dict[str, Callable[[Dataset, Path, Path | None], Files]] = {
    formats.XMC: _xmc,
    formats.XMC_PAIR: _xmc_pair,
    formats.SVMLIGHT: _svmlight,
    formats.ARFF: _arff,
    formats.JSONL: _jsonl,
    formats.CSV: _csv,
    formats.FASTTEXT: _fasttext,
}


def _features(dataset: Dataset, path: Path) -> sp.csr_matrix:
    if dataset.X is None:
        raise DataError(
            "this format holds numbers, and the data set has only texts", path=path, remedy="write JSON lines (.jsonl)"
        )
    return dataset.X


def _entries(matrix: sp.csr_matrix) -> Iterator[tuple[list[int], list[str]]]:
    """(columns, values as text) of each row; some rows at a time, as Python objects are large."""
    for start in range(0, matrix.shape[0], _ROWS):
        block = matrix[start : start + _ROWS]
        columns, ends, values = block.indices.tolist(), block.indptr.tolist(), _texts(block.data)
        for a, b in itertools.pairwise(ends):
            yield columns[a:b], values[a:b]


def _texts(values: npt.NDArray[np.float32]) -> list[str]:
    """Each with the fewest digits that read back as the same float32; equal values are formatted once."""
    unique, which = np.unique(values, return_inverse=True)
    texts = [str(value).removesuffix(".0") for value in unique]
    return [texts[i] for i in which.tolist()]


def _pairs(matrix: sp.csr_matrix) -> Iterator[str]:
    for columns, values in _entries(matrix):
        yield " ".join([f"{c}:{v}" for c, v in zip(columns, values, strict=True)])


def _lines(matrix: sp.csr_matrix) -> Iterator[str]:
    return (row + "\n" for row in _pairs(matrix))


def _labels(Y: sp.csr_matrix) -> Iterator[str]:
    for labels, _ in _entries(Y):
        yield ",".join(map(str, labels))


def _with_header(header: str, rows: Iterator[str]) -> Iterator[str]:
    yield header
    yield from rows


def _unique(names: Sequence[str], taken: set[str]) -> list[str]:
    """ARFF wants names on one line and all different: a second "x" becomes "x_2"."""
    found = []
    for name in names:
        plain = free = " ".join("".join(c if c.isprintable() else " " for c in name).split()) or "_"
        i = 2
        while free in taken:
            free, i = f"{plain}_{i}", i + 1
        taken.add(free)
        found.append(free)
    return found


def _quoted(name: str) -> str:
    return "'" + re.sub(r"(['\\])", r"\\\1", name) + "'"
