"""Labels of a fitted model added, retired, renamed and merged, by identifier: what `zipfel labels` does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from zipfel.classifier import Zipfel
from zipfel.data import Concept, Dataset, Vocabulary
from zipfel.data.streams import open_stream
from zipfel.errors import DataError, nearest

_MOST_HINTS = 10_000
"""Labels among which the nearest to a wrong one is looked for."""


def read_changes(path: str | Path, columns: int, *, optional: int = 0) -> list[list[str]]:
    """The lines of a file as cells with tabs between them; blank lines are skipped.

    columns: cells that a line must have; optional: how many more it may have.
    """
    rows = []
    with open_stream(path) as stream:
        for number, line in stream.lines():
            cells = [cell.strip() for cell in line.split("\t")]
            if not line.strip():
                continue
            if not columns <= len(cells) <= columns + optional or not all(cells):
                form = "OLD<TAB>NEW" if columns == 2 else "IDENTIFIER" + "[<TAB>NAME]" * bool(optional)
                raise DataError(f"a line must be {form}", path=stream.name, line=number)
            rows.append(cells)
    if not rows:
        raise DataError("names no label", path=str(path))
    return rows


def add_labels(model: Zipfel, labels: Iterable[Sequence[str]]) -> int:
    """Adds labels: identifiers, with names if the model has a vocabulary. Returns how many were added.

    A label without documents is not predicted before documents of it were added, except by methods that read names.
    """
    names, given = _names(model), {row[0]: row[-1] for row in labels}
    called = [key if _are_identifiers(model) else name for key, name in given.items()]
    known = {*names, *(model.vocabulary_.positions if model.vocabulary_ is not None else ())}
    for label in (*given, *called):
        if label in known:
            raise DataError(f"the model has a label {label!r} already")
    X = sp.csr_matrix((0, model.n_features_in_), dtype=np.float32)
    Y = sp.csr_matrix((0, len(names) + len(called)), dtype=np.float32)
    texts: list[str] | None = [] if model.rows_.vectorizer is not None else None
    model.partial_fit(Dataset(Y=Y, X=None if texts is not None else X, texts=texts, label_names=[*names, *called]))
    if model.vocabulary_ is not None:
        concepts = model.vocabulary_.concepts[: len(names)]
        model.vocabulary_ = Vocabulary([*concepts, *(Concept(key, {"": name}) for key, name in given.items())])
    return len(given)


def retire_labels(model: Zipfel, labels: Iterable[str]) -> int:
    """These labels are not predicted any more."""
    ids = {_label_id(model, label) for label in labels}
    model.label_changes_ = model.label_changes_.retire(ids)
    return len(ids)


def rename_labels(model: Zipfel, names: Mapping[str, str]) -> int:
    """Old name -> new name. In a model with a vocabulary: identifier -> preferred name; the identifier stays."""
    ids = {_label_id(model, old): new for old, new in names.items()}
    was_identifier = _are_identifiers(model)
    if model.vocabulary_ is not None:
        concepts, language = list(model.vocabulary_.concepts), (model.vocabulary_.languages or [""])[0]
        for label, new in ids.items():
            concepts[label] = replace(concepts[label], names={**concepts[label].names, language: new})
        model.vocabulary_ = Vocabulary(concepts)
    if was_identifier:
        return len(ids)
    kept = list(_names(model))
    for label, new in ids.items():
        kept[label] = new
    if len(set(kept)) < len(kept):
        twice = next(new for new in ids.values() if kept.count(new) > 1)
        raise DataError(f"two labels would be called {twice!r}", remedy="merge them, or choose another name")
    model.label_names_ = kept
    return len(ids)


def merge_labels(model: Zipfel, into: Mapping[str, str]) -> int:
    """Label -> the label that it counts as from now on."""
    ids = {_label_id(model, old): _label_id(model, new) for old, new in into.items()}
    for old, new in ids.items():
        if old == new:
            raise DataError(f"label {_names(model)[old]!r} can't be merged into itself")
        if new in ids or new in model.label_changes_.merged:
            raise DataError(f"label {_names(model)[new]!r} is merged into another one itself", remedy="name that one")
    model.label_changes_ = model.label_changes_.merge(ids)
    counts = model.label_counts_.copy()
    for old, new in ids.items():
        counts[new] += counts[old]
        counts[old] = 0
    model.label_counts_ = counts
    return len(ids)


def _names(model: Zipfel) -> Sequence[str]:
    if model.label_names_ is None:
        raise DataError("the model knows its labels by number only", remedy="fit it on data with label names")
    return model.label_names_


def _are_identifiers(model: Zipfel) -> bool:
    """Whether the model calls its labels by the identifiers of its vocabulary."""
    found = model.vocabulary_
    return found is not None and all(
        name == concept.id for name, concept in zip(_names(model), found.concepts, strict=True)
    )


def _label_id(model: Zipfel, identifier: str) -> int:
    """By identifier, or by name."""
    names = _names(model)
    if model.vocabulary_ is not None and identifier in model.vocabulary_.positions:
        return model.vocabulary_.positions[identifier]
    try:
        return names.index(identifier)
    except ValueError:
        hint = nearest(identifier, names) if len(names) < _MOST_HINTS else ""
        raise DataError(f"the model has no label {identifier!r}{hint}") from None
