"""Output of `zipfel predict`: JSON lines, one line for each document, or one table for each document."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

from zipfel.cli.console import json_text, one_line, say

if TYPE_CHECKING:
    from zipfel.data import Vocabulary
    from zipfel.data.chunks import Chunk
    from zipfel.ranking import Ranking

Labels = Sequence[tuple[str, float]]
"""(label, score) pairs, best first."""
Told = Mapping[str, Sequence[str | None]]
"""ids, names and notations, parallel to a document's labels; nothing without a vocabulary."""


@dataclass(frozen=True)
class Answer:
    """What is said about one document. error: why it could not be read; it has no labels then."""

    id: str | None
    title: str
    labels: Labels = ()
    told: Told = field(default_factory=dict)
    error: str | None = None
    text: str | None = None

    @property
    def shown(self) -> Labels:
        """With names for people in place of identifiers."""
        names = self.told.get("names")
        if names is None:
            return self.labels
        return [(str(name), score) for name, (_, score) in zip(names, self.labels, strict=True)]


def labelled(ranking: Ranking, vocabulary: Vocabulary | None, language: str | None) -> Iterator[tuple[Labels, Told]]:
    """Of each document its labels, and what the vocabulary tells of them."""
    from zipfel.estimator.vocabularies import names_by_document

    if vocabulary is None:
        yield from ((row, {}) for row in ranking.rows())
    else:
        yield from zip(ranking.rows(), names_by_document(ranking, vocabulary, language), strict=True)


def answers_of(chunk: Chunk, rows: Iterable[tuple[Labels, Told]], *, null_faults: bool) -> Iterator[Answer]:
    """The answers in the order of the input. A fault is told on stderr; with null_faults it is an answer, too."""
    found, place = iter(rows), 0
    for row in range(chunk.n_rows):
        fault = chunk.faults.get(row)
        if fault is None:
            text = None if chunk.documents.texts is None else chunk.documents.texts[place]
            yield Answer(chunk.ids[place], title_of(chunk, place), *next(found), text=text)
            place += 1
            continue
        say(f"zipfel: {fault}" + ("" if null_faults else "; skipped"))
        if null_faults:
            yield Answer(None, f"line {fault.line}", error=str(fault))


def title_of(chunk: Chunk, place: int) -> str:
    """What names a document in the output: its id, else the beginning of its text, else its line."""
    name, line = chunk.ids[place], chunk.lines[place]
    if name is not None:
        return one_line(name)
    if chunk.documents.texts is not None:
        return one_line(chunk.documents.texts[place][:60])
    return "" if line is None else f"line {line}"


def as_json(answer: Answer) -> str:
    """{"schema": 1, "id": ..., "labels": [...], "scores": [...]}; id is null where the document has none. With a
    vocabulary there are "ids", "names" and "notations", too.

    >>> as_json(Answer("7", "7", [("bike", 0.5)]))
    '{"schema": 1, "id": "7", "labels": ["bike"], "scores": [0.5]}'
    """
    if answer.error is not None:
        return json_text({"id": None, "labels": None, "scores": None, "error": answer.error})
    names, scores = [name for name, _ in answer.labels], [round(score, 6) for _, score in answer.labels]
    return json_text({"id": answer.id, "labels": names, "scores": scores, **answer.told})


def as_line(answer: Answer) -> str:
    """The title, then each label with its score, with tabs between them."""
    if answer.error is not None:
        return f"{answer.title}\tnot read"
    return "\t".join([answer.title, *(f"{one_line(name)} {score:.3f}" for name, score in answer.shown)])


def write_lines(answers: Iterable[Answer], form: Callable[[Answer], str], file: TextIO | None = None) -> None:
    """Writes a line an answer, all of them at once; to standard output unless told otherwise."""
    out = file or sys.stdout
    if text := "".join(form(answer) + "\n" for answer in answers):
        out.write(text)
        out.flush()


def write_tables(answers: Iterable[Answer]) -> None:
    """Prints a table an answer, for a terminal."""
    from zipfel.cli.show import console, prediction_table

    screen = console()
    for answer in answers:
        if answer.error is not None:
            screen.print(f"{answer.title}: not read", markup=False)
        else:
            screen.print(prediction_table(answer.title, answer.shown))


def writer() -> Callable[[Iterable[Answer]], None]:
    """What suits the place where the output goes: tables for a terminal, else a line an answer."""
    return write_tables if sys.stdout.isatty() else lambda answers: write_lines(answers, as_line)
