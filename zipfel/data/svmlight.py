"""svmlight / libsvm, multi-label: lines of "l1,l2 f:v f:v" without a header; '#' begins a comment.

Ids are taken as they are, so that the parts of a data set agree. If a file counts from 1, column 0 stays empty. The
matrix is as wide as its largest id asks for. An empty line is no row. A row without labels and features is a line with
a space, as scikit-learn writes it.
"""

from __future__ import annotations

from zipfel.data.dataset import Dataset
from zipfel.data.names import with_names_beside
from zipfel.data.plain_rows import Layout
from zipfel.data.sparse_rows import read_rows, report_on
from zipfel.data.streams import Stream
from zipfel.errors import DataError


def read_svmlight(stream: Stream) -> Dataset:
    rows = read_rows(stream, Layout(headless=True), first_line=1)
    X, Y = rows.X.finish(), rows.Y.finish()
    if not X.shape[0]:
        raise DataError("has no rows", path=stream.name)
    report = report_on(X, Y, rows.duplicate_features, rows.duplicate_labels)
    return with_names_beside(Dataset(Y=Y, X=X, report=report), stream.name)
