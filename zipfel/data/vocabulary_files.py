"""`read_vocabulary`: SKOS, Annif's TSV and CSV, or JSONL, told by name and content."""

from __future__ import annotations

from pathlib import Path

from zipfel.data.skos_turtle import read_turtle
from zipfel.data.skos_xml import read_rdf_xml
from zipfel.data.streams import Stream, bare_suffix, open_stream
from zipfel.data.vocabulary import Vocabulary, by_id
from zipfel.data.vocabulary_tables import has_header, read_csv, read_jsonl, read_tsv
from zipfel.errors import DataError

MAX_BYTES = 1 << 30
"""Of a Turtle file, which is read as a whole."""
_BY_SUFFIX = {
    ".ttl": "turtle",
    ".nt": "turtle",
    ".n3": "turtle",
    ".rdf": "xml",
    ".xml": "xml",
    ".owl": "xml",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
}


def read_vocabulary(path: str | Path) -> Vocabulary:
    """Reads a vocabulary: SKOS (Turtle or RDF/XML), Annif's TSV, CSV or JSON lines; plain, .gz or .zst.

    path: the file. A file that breaks its format's rules is a `DataError` with the line.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "fruit.tsv"
    ...     _ = file.write_text("<http://example.org/1>\\tapple\\n")
    ...     read_vocabulary(file).name(0)
    'apple'
    """
    with open_stream(path) as stream:
        if not stream.head():
            raise DataError("the file is empty", path=stream.name)
        first = next((line for line in stream.head().split(b"\n") if line.strip()), b"").decode("utf-8", "replace")
        kind = _BY_SUFFIX.get(bare_suffix(path)) or _kind(first.strip())
        if kind == "turtle":
            found = by_id(read_turtle(_text(stream), stream.name).concepts())
        elif kind == "xml":
            found = by_id(read_rdf_xml(stream).concepts())
        elif kind == "jsonl":
            found = by_id(read_jsonl(stream))
        else:
            separator = max("\t,;", key=first.count)
            found = by_id(read_csv(stream, separator) if has_header(first, separator) else read_tsv(stream))
    if not found:
        remedy = "a SKOS file needs skos:Concept with skos:prefLabel"
        raise DataError("there is no concept in this vocabulary", path=str(path), remedy=remedy)
    return Vocabulary(list(found.values()))


def _kind(first: str) -> str:
    if first.startswith("{"):
        return "jsonl"
    if first.lower().startswith(("@prefix", "@base", "prefix ", "base ")):
        return "turtle"
    return "xml" if first.startswith(("<?xml", "<rdf:RDF", "<!DOCTYPE")) else "table"


def _text(stream: Stream) -> str:
    content = stream.read_all(MAX_BYTES)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError("a byte of the line is not UTF-8", path=stream.name, line=line) from None
