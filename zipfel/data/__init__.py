"""Data sets: reading, writing, splitting, sampling, synthesising, and telling what is in them."""

from zipfel.data.buckets import BUCKETS, buckets
from zipfel.data.dataset import Dataset, ReadReport, binary, label_matrix

__all__ = ["BUCKETS", "Dataset", "ReadReport", "binary", "buckets", "label_matrix"]
