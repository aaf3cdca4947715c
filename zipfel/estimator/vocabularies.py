"""An estimator's vocabulary: training labels matched with its concepts, other data named as the model names labels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from zipfel.data import Concept, Dataset, Vocabulary, read_vocabulary
from zipfel.data.embeddings import checked_embeddings
from zipfel.data.remarks import warn
from zipfel.data.vocabulary_labels import LabelFinder, describe, match_labels, renamed
from zipfel.errors import DataError, ParameterError
from zipfel.persistence import ModelFiles
from zipfel.ranking import PAD, Ranking

AnyVocabulary = Vocabulary | str | Path


def with_vocabulary(train: Dataset, vocabulary: AnyVocabulary, unknown: str) -> tuple[Dataset, Vocabulary]:
    """The data with a label for every concept, and the vocabulary in the order of these labels.

    Labels that are no concept are skipped with a warning, or refused: see `match_labels`.
    """
    vocabulary = as_vocabulary(vocabulary)
    matched, ordered, unmatched = match_labels(train, vocabulary, unknown)
    warn(describe(unmatched, train.name or "the training data"))
    return matched, ordered


def as_vocabulary(vocabulary: AnyVocabulary) -> Vocabulary:
    """The vocabulary, or the one that a file has."""
    if isinstance(vocabulary, str | Path):
        vocabulary = read_vocabulary(vocabulary)
    if not isinstance(vocabulary, Vocabulary):
        raise ParameterError(f"vocabulary must be a Vocabulary or the path of one, got {type(vocabulary).__name__}")
    return vocabulary


def in_label_order(rows: Any, given: Vocabulary, labels: Vocabulary) -> Any:
    """Embeddings with a row a concept as `given` orders them, in the order of the labels; None stays None."""
    if rows is None:
        return None
    found = checked_embeddings(rows)
    if len(found) != len(given):
        raise DataError(f"there are {len(found)} rows of label embeddings and {len(given)} concepts in the vocabulary")
    return found[[given.positions[concept.id] for concept in labels.concepts]]


def named_alike(data: Dataset, names: Sequence[str] | None, vocabulary: Vocabulary | None) -> Dataset:
    """The data with its labels called as a model calls them, whether it names them by identifier or by name."""
    if vocabulary is None or names is None or data.label_names is None:
        return data
    if set(data.label_names) <= set(names):
        return data
    return renamed(data, names, LabelFinder(vocabulary))


def extended(vocabulary: Vocabulary | None, names: Sequence[str] | None, n_before: int) -> Vocabulary | None:
    """The vocabulary with a concept for each label behind the first n_before, which has only its name."""
    if vocabulary is None or names is None or len(names) == n_before:
        return vocabulary
    return Vocabulary([*vocabulary.concepts, *(Concept(name, {"": name}) for name in names[n_before:])])


def kept_vocabulary(files: ModelFiles, n_labels: int) -> Vocabulary | None:
    """What a model folder holds, checked; None where it was fitted without one."""
    if "vocabulary" not in files.documents:
        return None
    return Vocabulary.from_json(files.documents["vocabulary"], n_labels)


def label_texts(names: Sequence[str] | None, vocabulary: Vocabulary | None) -> list[tuple[int, str, bool]]:
    """(label, name, whether it is a preferred one) of all names that may stand in a text; identifiers may not.

    >>> label_texts(["boat", "https://example.org/1", "12"], None)
    [(0, 'boat', True)]
    """
    if vocabulary is not None:
        told_names = enumerate(concept.all_names() for concept in vocabulary.concepts)
        return [(label, name, preferred) for label, own in told_names for name, _, preferred in own]
    own_names = enumerate(names or ())
    return [(label, name, True) for label, name in own_names if "://" not in name and not name.strip().isdigit()]


def check_language(vocabulary: Vocabulary | None, language: str | None) -> str | None:
    """The language in lower case, where the vocabulary has names in it."""
    if language is None:
        return None
    if vocabulary is None:
        remedy = "fit the model with --vocabulary FILE"
        raise DataError("the model has no vocabulary, and so no names by language", remedy=remedy)
    if language.lower() not in vocabulary.languages:
        there = ", ".join(name for name in vocabulary.languages if name) or "none that a file tells"
        raise ParameterError(f"the vocabulary has no names in language {language!r}; its languages are: {there}")
    return language.lower()


def names_by_document(
    ranking: Ranking, vocabulary: Vocabulary | None, language: str | None = None
) -> list[dict[str, list[Any]]]:
    """For each document `ids`, `names` and `notations`, parallel to its labels; without a vocabulary the first two are
    the labels themselves."""
    found: list[dict[str, list[Any]]] = []
    for row in ranking.labels.tolist():
        labels = [label for label in row if label != PAD]
        if vocabulary is None:
            own = [ranking.name(label) for label in labels]
            found.append({"ids": own, "names": own, "notations": [None] * len(own)})
        else:
            concepts = [vocabulary.concepts[label] for label in labels]
            names = [concept.name(language) for concept in concepts]
            notations = [concept.notation for concept in concepts]
            found.append({"ids": [concept.id for concept in concepts], "names": names, "notations": notations})
    return found
