"""Data sets: reading, writing, splitting, sampling, synthesising, and telling what is in them."""

from zipfel.data.buckets import BUCKETS, buckets
from zipfel.data.dataset import Dataset, ReadReport, binary, label_matrix
from zipfel.data.formats import FORMATS
from zipfel.data.limits import trusting
from zipfel.data.packed import check_packed, is_packed, open_packed
from zipfel.data.packing import pack
from zipfel.data.reading import read, read_documents
from zipfel.data.splitting import sample, split
from zipfel.data.statistics import Stats, stats
from zipfel.data.synthetic import synth
from zipfel.data.vocabulary import Concept, Vocabulary
from zipfel.data.vocabulary_files import read_vocabulary
from zipfel.data.writing import WRITABLE, write, write_names

__all__ = [
    "BUCKETS",
    "FORMATS",
    "WRITABLE",
    "Concept",
    "Dataset",
    "ReadReport",
    "Stats",
    "Vocabulary",
    "binary",
    "buckets",
    "check_packed",
    "is_packed",
    "label_matrix",
    "open_packed",
    "pack",
    "read",
    "read_documents",
    "read_vocabulary",
    "sample",
    "split",
    "stats",
    "synth",
    "trusting",
    "write",
    "write_names",
]
