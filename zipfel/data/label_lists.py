"""Lists of labels in one cell, as JSON, Python (pandas) and NumPy write them."""

from __future__ import annotations

import json
import re

_ITEM = re.compile(
    r"""\s*(?:'(?P<single>(?:[^'\\]|\\.)*)'|"(?P<double>(?:[^"\\]|\\.)*)"|(?P<number>-?[0-9]+(?:\.[0-9]*)?))\s*,?"""
)
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_NAMED = {"n": "\n", "t": "\t", "r": "\r"}


def parse_list(cell: str) -> list[str]:
    r"""The labels of a cell, or ValueError.

    >>> parse_list('["a b", 3]'), parse_list("['it\\'s', \"b\"]"), parse_list("['a' 'b']")
    (['a b', '3'], ["it's", 'b'], ['a', 'b'])
    """
    cell = cell.strip()
    try:
        labels = json.loads(cell)
    except (ValueError, RecursionError):
        labels = _python_list(cell)
    if not isinstance(labels, list) or not all(isinstance(label, str | int | float) for label in labels):
        raise ValueError(f"the labels must be a JSON list of names, or one as Python writes it; got {cell[:40]!r}")
    return [str(label) for label in labels]


def _python_list(cell: str) -> list[str] | None:
    if not (cell.startswith("[") and cell.endswith("]")):
        return None
    labels: list[str] = []
    inner = cell[1:-1].rstrip()
    at = 0
    while at < len(inner):
        item = _ITEM.match(inner, at)
        if item is None:
            return None
        quoted = item["single"] if item["single"] is not None else item["double"]
        labels.append(item["number"] if quoted is None else _ESCAPE.sub(_unescaped, quoted))
        at = item.end()
    return labels


def _unescaped(found: re.Match[str]) -> str:
    code = found[1] or found[2] or found[3]
    if code is None:
        return _NAMED.get(found[4], found[4])
    return chr(int(code, 16)) if int(code, 16) <= 0x10FFFF else found[0]
