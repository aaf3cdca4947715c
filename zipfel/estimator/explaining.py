"""A method's explanation, which is all numbers, with the words, the labels and the text that the user knows."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

import scipy.sparse as sp

from zipfel.errors import DataError, ParameterError
from zipfel.estimator.rows import RowMaker
from zipfel.explanation import Explained, Explanation, Voter, cut
from zipfel.points import Sources


def one_row(read: tuple[sp.csr_matrix, Sources]) -> tuple[sp.csr_matrix, Sources]:
    """What was read, if it is one document."""
    found, sources = read
    if found.shape[0] != 1:
        raise DataError(f"one document at a time is explained, got {found.shape[0]}")
    return found, sources


def label_id(label: str | int, names: Sequence[str]) -> int:
    """Of a label by its name or its number."""
    if isinstance(label, str) and label in names:
        return names.index(label)
    if isinstance(label, int) and 0 <= label < len(names):
        return label
    alike = [name for name in names if name[:1].lower() == str(label)[:1].lower()]  # there may be a million
    close = difflib.get_close_matches(str(label), alike[:20_000], n=1, cutoff=0.5)
    hint = f" (did you mean {close[0]!r}?)" if close else f"; it has {len(names):,}, {names[0]!r} is the first"
    raise ParameterError(f"the model has no label {label!r}{hint}")


def named(
    found: Explanation, scores: Mapping[int, float], names: Sequence[str], rows: RowMaker, document: Any
) -> Explained:
    """scores: of the labels that were predicted, by id. names: of all labels. document: a text, or a row."""
    known = rows.feature_names

    def name(feature: int) -> str:
        return known[feature] if known is not None else f"feature {feature}"

    words = [name(i) for i in found.features]
    others = {label: sum(kinds.values()) for label, kinds in found.evidence.items() if label not in scores}
    place = {word: i for i, word in enumerate(words)}
    pieces: list[tuple[str, list[int]]] = [piece for i, word in enumerate(words) for piece in ((word, [i]), (" ", []))]
    if isinstance(document, str) and rows.vectorizer is not None:
        pieces = cut(document, rows.vectorizer.tokens(document), place)
    return Explained(
        words,
        found.attention,
        {names[label]: added for label, added in found.contributions.items()},
        {names[label]: score for label, score in {**scores, **others}.items()},
        pieces,
        {names[label]: kinds for label, kinds in found.evidence.items()},
        {
            names[label]: [Voter(voter.row, voter.added, [name(i) for i in voter.shared]) for voter in voters]
            for label, voters in found.voters.items()
        },
    )
