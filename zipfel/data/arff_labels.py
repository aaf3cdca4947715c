"""Which attributes of an ARFF file are labels: Mulan's XML says it, or MEKA's option in the relation's name."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

from zipfel.data.streams import STDIN, open_stream
from zipfel.errors import DataError

_MAX_XML = 1 << 26
_MEKA = re.compile(r"-[cC]\s+(-?[0-9]{1,9})\b")
_PART = re.compile(r"[-_.](?:train|test|valid|dev)$", re.IGNORECASE)


def label_names_of(
    path: str, xml: str | Path | None, relation: str, attributes: list[str], *, need_labels: bool
) -> set[str]:
    """The names of the attributes that are labels. The list is empty only if labels are not needed and not named."""
    if xml is None:
        xml = xml_beside(path)
    if xml is not None:
        named = read_label_xml(xml)
        known = {*attributes}
        missing = [name for name in named if name not in known]
        if missing:
            message = f"names the label {missing[0][:60]!r}, which is no attribute of {path}"
            raise DataError(message, path=str(xml), remedy="give the XML that belongs to this ARFF file")
        return {*named}
    match = _MEKA.search(relation)
    if match and 0 < abs(int(match[1])) <= len(attributes):
        count = int(match[1])
        return {*attributes[:count]} if count > 0 else {*attributes[count:]}
    if need_labels:
        raise DataError(
            "nothing says which attributes are labels",
            path=path,
            remedy="name Mulan's XML file with labels, or write '-C n' into the relation's name as MEKA does",
        )
    return set()


def xml_beside(path: str) -> Path | None:
    """NAME.xml for NAME.arff, NAME-train.arff, NAME-test.arff.gz and the like."""
    if path == STDIN:
        return None
    stem = re.sub(r"\.arff(\.gz|\.zst)?$", "", Path(path).name, flags=re.IGNORECASE)
    for name in (stem, _PART.sub("", stem)):
        candidate = Path(path).with_name(name + ".xml")
        if candidate.is_file():
            return candidate
    return None


def read_label_xml(path: str | Path) -> list[str]:
    """The name of every <label>, nested ones too. A document type is refused: it could make the XML explode."""
    with open_stream(path) as stream:
        text = stream.read_all(_MAX_XML)
    if b"<!DOCTYPE" in text or b"<!ENTITY" in text:
        raise DataError("the XML has a document type, which a list of labels does not need", path=str(path))
    try:
        root = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise DataError(f"is not sound XML: {error}", path=str(path)) from None
    names = [element.get("name", "") for element in root.iter() if element.tag.rpartition("}")[2] == "label"]
    if not names or not all(names):
        raise DataError('has no <label name="..."> elements', path=str(path))
    return names
