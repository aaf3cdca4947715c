"""Which format a file is in, told from its name and its first lines."""

from __future__ import annotations

import re

from zipfel.data.documents import LABEL_FIELDS, TEXT_FIELDS
from zipfel.data.xmc import header_numbers
from zipfel.errors import DataError

XMC, XMC_PAIR, SVMLIGHT, ARFF, JSONL, CSV, FASTTEXT, NPZ, PARQUET, TEXT = (
    "xmc",
    "xmc-pair",
    "svmlight",
    "arff",
    "jsonl",
    "csv",
    "fasttext",
    "npz",
    "parquet",
    "text",
)
FORMATS = (XMC, XMC_PAIR, SVMLIGHT, ARFF, JSONL, CSV, FASTTEXT, NPZ, PARQUET, TEXT)

_BY_SUFFIX = {
    ".npz": NPZ,
    ".parquet": PARQUET,
    ".arff": ARFF,
    ".jsonl": JSONL,
    ".ndjson": JSONL,
    ".json": JSONL,
    ".csv": CSV,
    ".tsv": CSV,
    ".svm": SVMLIGHT,
    ".libsvm": SVMLIGHT,
    ".svmlight": SVMLIGHT,
}
_SVMLIGHT_LINE = re.compile(rb"\s*(?:[0-9]+(?:,[0-9]+)*)?(?:(?:^|\s+)[0-9]+:[^\s:]+)*\s*(?:#.*)?")
_SAMPLE_LINES = 100


def detect(head: bytes, name: str, suffix: str, *, need_labels: bool) -> str:
    """The format; `head` holds the first bytes, `suffix` is without .gz or .zst.

    The name decides where it can (.jsonl, .csv, .arff, ...); .txt, other names and standard input are told by content.
    Without `need_labels` a text that looks like nothing else is one document a line.
    """
    found = _BY_SUFFIX.get(suffix) or _by_content(head, whole=len(head) < 1 << 16)
    if found is None and need_labels:
        first = head.partition(b"\n")[0][:40].decode("utf-8", "replace").strip()
        raise DataError(
            f"the format is not recognised; the first line is {first!r}",
            path=name,
            line=1,
            remedy="an XMC file begins with 'N D L', a JSON line with '{'; or name the format: "
            + ", ".join(FORMATS[:-1]),
        )
    return found or TEXT


def _by_content(head: bytes, whole: bool) -> str | None:
    if head.startswith(b"PK\x03\x04"):
        return NPZ
    if head.startswith(b"PAR1"):
        return PARQUET
    if not whole:  # the last line, or the last word of the only one, may be cut off
        head = head[: max(head.rfind(b"\n"), 0) or max(head.rfind(b" "), 0) or len(head)]
    lines = head.split(b"\n")[:_SAMPLE_LINES]
    first = next((line for line in lines if line.strip()), b"")
    if first.lstrip().startswith(b"{"):
        return JSONL
    numbers = header_numbers(lines[0])
    if numbers and _sparse(lines[1:]):
        return XMC if len(numbers) == 3 else XMC_PAIR
    if re.search(rb"^\s*@relation\b", head, re.IGNORECASE | re.MULTILINE):
        return ARFF
    if any(re.search(rb"(?:^|\s)__label__", line) for line in lines):
        return FASTTEXT
    if _sparse(lines) and any(b":" in line for line in lines):
        return SVMLIGHT
    return CSV if _names_columns(first) else None


def _sparse(lines: list[bytes]) -> bool:
    """Whether most lines look like "l1,l2 f:v"; most, because a broken line deserves an error that names it."""
    lines = [line for line in lines if line.strip()]
    return sum(bool(_SVMLIGHT_LINE.fullmatch(line)) for line in lines) * 2 >= len(lines)


def _names_columns(line: bytes) -> bool:
    """Whether this is the first line of a table with a text or a labels column."""
    words = line.decode("utf-8", "replace").lower()
    for separator in "\t,;":
        cells = [cell.strip().strip('"') for cell in words.split(separator)]
        if len(cells) > 1 and not {*cells}.isdisjoint({*LABEL_FIELDS, *TEXT_FIELDS}):
            return True
    return False
