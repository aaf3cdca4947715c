"""Data sets: reading, writing, splitting, sampling, synthesising, and telling what is in them."""

from zipfel.data.buckets import BUCKETS, buckets
from zipfel.data.dataset import Dataset, ReadReport, binary, label_matrix
from zipfel.data.formats import FORMATS
from zipfel.data.reading import read, read_documents

__all__ = [
    "BUCKETS",
    "FORMATS",
    "Dataset",
    "ReadReport",
    "binary",
    "buckets",
    "label_matrix",
    "read",
    "read_documents",
]
