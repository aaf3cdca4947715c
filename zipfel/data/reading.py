"""`read` and `read_documents`: any supported file, its format detected from its name and content."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from zipfel.data import formats
from zipfel.data.arff import read_arff
from zipfel.data.dataset import Dataset
from zipfel.data.delimited import read_delimited
from zipfel.data.documents import Fields
from zipfel.data.fasttext import read_fasttext
from zipfel.data.jsonl import read_jsonl
from zipfel.data.limits import check_size
from zipfel.data.names import read_names
from zipfel.data.npz import read_npz
from zipfel.data.packed import is_packed, open_packed
from zipfel.data.parquet import read_parquet
from zipfel.data.plain_text import read_plain_text
from zipfel.data.streams import STDIN, Stream, bare_suffix, open_stream
from zipfel.data.svmlight import read_svmlight
from zipfel.data.text_folder import is_text_folder, read_text_folder
from zipfel.data.xmc import companion, read_xmc, read_xmc_pair
from zipfel.errors import DataError, ParameterError, nearest


@dataclass(frozen=True)
class _Request:
    """What the caller asked for."""

    path: str
    labels: str | Path | None
    fields: Fields

    def second_file(self) -> str | Path | None:
        """The labels file that belongs to a features file; None where there is none and none is needed."""
        if self.labels is not None:
            return self.labels
        path = None if self.path == STDIN else companion(self.path)
        if path is not None and path.is_file():
            return path
        if self.fields.need_labels:
            expected = f"there is no {path.name} beside it" if path else "standard input brings only one"
            raise DataError(
                f"this file holds features and the labels are in a second one; {expected}",
                path=self.path,
                remedy="name the labels file with labels",
            )
        return None


_READERS: dict[str, Callable[[Stream, _Request], Dataset]] = {
    formats.XMC: lambda stream, _: read_xmc(stream),
    formats.XMC_PAIR: lambda stream, request: read_xmc_pair(stream, request.second_file()),
    formats.SVMLIGHT: lambda stream, _: read_svmlight(stream),
    formats.ARFF: lambda stream, request: read_arff(stream, request.labels, need_labels=request.fields.need_labels),
    formats.JSONL: lambda stream, request: read_jsonl(stream, request.fields),
    formats.CSV: lambda stream, request: read_delimited(stream, request.fields),
    formats.FASTTEXT: lambda stream, request: read_fasttext(stream, request.fields),
    formats.NPZ: lambda _, request: read_npz(request.path, request.second_file()),
    formats.PARQUET: lambda _, request: read_parquet(request.path, request.fields),
    formats.TEXT: lambda stream, _: read_plain_text(stream),
}


def read(
    path: str | Path,
    *,
    format: str = "auto",  # noqa: A002 - the word users look for
    labels: str | Path | None = None,
    label_names: str | Path | None = None,
    feature_names: str | Path | None = None,
    text_column: str | None = None,
    label_column: str | None = None,
    id_column: str | None = None,
    label_separator: str | None = None,
) -> Dataset:
    """Reads labelled documents from a file (plain, .gz or .zst), standard input or a folder of packed data.

    path: the file or folder; "-" is standard input.
    format: one of `zipfel.data.FORMATS`, or "auto".
    labels: the second file of formats that have one: labels of "xmc-pair" and "npz", the XML of "arff". By default the
        file with the usual name beside the first.
    label_names, feature_names: files with one name a line. labels.txt and features.txt beside an XMC file are used.
    text_column, label_column, id_column: fields of JSONL, CSV and Parquet; text, labels and id by default.
    label_separator: between the labels of a CSV cell; detected if it is None.

    A file that breaks the rules raises `DataError`. Part of a file is never returned.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "train.csv"
    ...     _ = file.write_text("text,labels\\na red bike,bike|red\\na blue boat,boat\\n")
    ...     data = read(file)
    >>> data.n_points, data.label_names
    (2, ['bike', 'red', 'boat'])
    """
    fields = Fields(text_column, label_column, id_column, label_separator)
    dataset = _read(format, _Request(str(path), labels, fields))
    if label_names is not None:
        dataset = replace(dataset, label_names=read_names(label_names, dataset.n_labels, "labels"))
    if feature_names is not None:
        dataset = replace(dataset, feature_names=read_names(feature_names, dataset.n_features, "features"))
    return dataset


def read_documents(
    path: str | Path,
    *,
    format: str = "auto",  # noqa: A002 - the word users look for
    labels: str | Path | None = None,
    text_column: str | None = None,
    label_column: str | None = None,
    id_column: str | None = None,
    label_separator: str | None = None,
) -> Dataset:
    """Reads documents to be tagged: like `read`, but labels may be missing, and plain text is one document a line.

    path, format, labels, text_column, label_column, id_column, label_separator: as in `read`.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "new.txt"
    ...     _ = file.write_text("a red bike\\na blue boat\\n")
    ...     list(read_documents(file).texts)
    ['a red bike', 'a blue boat']
    """
    fields = Fields(text_column, label_column, id_column, label_separator, need_labels=False)
    return _read(format, _Request(str(path), labels, fields))


def _read(format: str, request: _Request) -> Dataset:  # noqa: A002 - as above
    if format != "auto" and format not in formats.FORMATS:
        raise ParameterError(f"unknown format {format!r}{nearest(format, ['auto', *formats.FORMATS])}")
    if is_packed(request.path):
        return open_packed(request.path)
    if is_text_folder(request.path):
        dataset = read_text_folder(request.path, need_labels=request.fields.need_labels)
        return replace(dataset, name=Path(request.path).name)
    with open_stream(request.path) as stream:
        if not stream.head():
            raise DataError("the file is empty", path=stream.name)
        if format == "auto":
            suffix = "" if request.path == STDIN else bare_suffix(request.path)
            format = formats.detect(stream.head(), stream.name, suffix, need_labels=request.fields.need_labels)  # noqa: A001
        dataset = _READERS[format](stream, request)
    _check_sizes(dataset, request.path)
    return replace(dataset, name="stdin" if request.path == STDIN else Path(request.path).name.partition(".")[0])


def _check_sizes(dataset: Dataset, name: str) -> None:
    """Few entries may not ask for many columns: models hold some numbers for each."""
    rows = dataset.n_points
    if dataset.label_names is None:
        check_size(dataset.n_labels, rows + dataset.Y.nnz, "labels", name)
    if dataset.X is not None and dataset.feature_names is None:
        check_size(dataset.n_features, rows + dataset.X.nnz, "features", name)
