"""Which format a file is in, told from its name and its first lines."""

from __future__ import annotations

import json
import re

from zipfel.data.documents import LABEL_FIELDS, TEXT_FIELDS, pick_texts
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
_OFFICE = {
    ".xlsx": "an Excel table",
    ".xls": "an Excel table",
    ".ods": "a table of LibreOffice",
    ".docx": "a Word document",
    ".doc": "a Word document",
    ".odt": "a document of LibreOffice",
    ".pdf": "a PDF document",
}
_LABEL_IDS, _PAIR = re.compile(rb"[0-9]+(?:,[0-9]+)*"), re.compile(rb"[0-9]+:[^\s:]+")
URI_CELL = re.compile(r"\s*(?:<[^<>\s]+>\s*)+")
_SAMPLE_LINES = 100


def _refuse_other_programs(head: bytes, name: str, suffix: str) -> None:
    """Files of office programs, by name or content."""
    kind = _OFFICE.get(suffix) or ("a file of an office program" if _is_office(head) else None)
    if kind is not None:
        remedy = "save it as CSV (UTF-8) there, and give that file to zipfel"
        raise DataError(f"this is {kind}, which zipfel does not read", path=name, remedy=remedy)


def _is_office(head: bytes) -> bool:
    """Office Open XML and OpenDocument, which are archives, and the older binary form."""
    inside = b"[Content_Types].xml" in head or b"mimetypeapplication/vnd.oasis" in head[:200]
    return (head.startswith(b"PK\x03\x04") and inside) or head.startswith(b"\xd0\xcf\x11\xe0")


def detect(head: bytes, name: str, suffix: str, *, need_labels: bool) -> str:
    """The format; `head` holds the first bytes, `suffix` is without .gz or .zst.

    A known suffix decides (.jsonl, .csv, .arff, ...). For .txt, other names and standard input the content decides.
    Without `need_labels`, text in no other format counts as one document a line.
    """
    _refuse_other_programs(head, name, suffix)
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


def detect_documents(head: bytes, name: str, suffix: str, text_column: str | None, *, texts: bool) -> str:
    """The format of documents to be tagged; suffix "" for standard input.

    texts: the model reads texts. A file with an unknown suffix then counts as plain text, or as JSON lines if its first
    line is an object with a text. A CSV or XMC header is never guessed: it may be the first document.
    """
    _refuse_other_programs(head, name, suffix)
    if suffix in _BY_SUFFIX:
        return _BY_SUFFIX[suffix]
    if not texts:
        found = _by_content(head, whole=len(head) < 1 << 16)
        if found in (XMC, XMC_PAIR, SVMLIGHT, ARFF, JSONL, NPZ):
            return found
        remedy = "name the format with --format xmc, svmlight or jsonl"
        raise DataError("this model reads features, and these are no sparse rows", path=name, line=1, remedy=remedy)
    if _by_content(head[:4], whole=True) in (NPZ, PARQUET):
        return _by_content(head[:4], whole=True) or TEXT
    line = head.partition(b"\n")[0]
    if name != "<stdin>" and is_annif(line.decode("utf-8", "replace").removesuffix("\r")):
        return CSV
    if not line.lstrip().startswith(b"{"):
        return FASTTEXT if name != "<stdin>" and re.match(rb"\s*__label__", line) else TEXT
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return JSONL if len(line) == len(head) > 1 << 16 and b'"text"' in line else TEXT
    if isinstance(row, dict) and pick_texts(text_column or TEXT_FIELDS[0], row):
        return JSONL
    raise DataError(
        f'the first line is a JSON object without "{text_column or TEXT_FIELDS[0]}"',
        path=name,
        line=1,
        remedy="name its text with --text-column NAME, or say --format text if the lines are texts themselves",
    )


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
    if re.search(rb"^[ \t]*@relation\b", head, re.IGNORECASE | re.MULTILINE):
        return ARFF
    if any(re.search(rb"(?:^|\s)__label__", line) for line in lines):
        return FASTTEXT
    if _sparse(lines) and any(b":" in line for line in lines):
        return SVMLIGHT
    return CSV if _names_columns(first) else None


def _sparse(lines: list[bytes]) -> bool:
    """Whether most lines look like "l1,l2 f:v"; most, because a broken line deserves an error that names it."""
    lines = [line for line in lines if line.strip()]
    return sum(map(_is_sparse_row, lines)) * 2 >= len(lines)


def _is_sparse_row(line: bytes) -> bool:
    words = line.partition(b"#")[0].split()
    if words and _LABEL_IDS.fullmatch(words[0]):
        words = words[1:]
    return all(map(_PAIR.fullmatch, words))


def _names_columns(line: bytes) -> bool:
    """Whether this is the first line of a table: names of a text or a labels column, or a row that needs no header."""
    words = line.decode("utf-8", "replace").lower()
    if is_annif(words.removesuffix("\r")):
        return True
    for separator in "\t,;":
        cells = [cell.strip().strip('"') for cell in words.split(separator)]
        if len(cells) > 1 and not {*cells}.isdisjoint({*LABEL_FIELDS, *TEXT_FIELDS}):
            return True
    return False


def is_annif(line: str) -> bool:
    """Whether this is a row of a table that needs no header: text, a tab, and URIs in angle brackets.

    >>> is_annif("A text\\t<http://example.org/1> <http://example.org/2>")
    True
    """
    cells = line.split("\t")
    return len(cells) == 2 and URI_CELL.fullmatch(cells[1]) is not None
