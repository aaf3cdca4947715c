"""Why a document got its labels. Words, voting training points and kinds of evidence are listed with what they added to
the score. The explanation is data, coloured text for the terminal, or HTML."""

from __future__ import annotations

import html
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from zipfel.errors import ParameterError
from zipfel.features.characters import Token

Word = TypeVar("Word", int, str)

_SHADES = (255, 230, 223, 216, 209)
"""Terminal colours of the 256-colour palette, from no weight to the most."""


@dataclass(frozen=True)
class Voter(Generic[Word]):
    """A training document that voted for a label.

    row: its number in the training set, from 0. added: what its vote added to the score. shared: words that it has in
    common with the document, the weightiest first: ids of features, or names.

    >>> Voter(row=6, added=0.5, shared=["bike"]).row
    6
    """

    row: int
    added: float
    shared: Sequence[Word]


@dataclass(frozen=True)
class Explanation:
    """One document's words and what each was worth, by ids: what a method's `explain` returns.

    features: ids of the words in the document. attention: how much attention lets through of each, 0 to 1; empty where
    a method has none. contributions: by label id, what each word added to (or took from) that label's score.
    evidence: by label id, what each kind of evidence added; their sum is the score. voters: by label id, the training
    points that voted for it, the strongest first. Both are empty where a method has no such thing.
    """

    features: Sequence[int]
    attention: Sequence[float]
    contributions: Mapping[int, Sequence[float]] = field(default_factory=dict)
    evidence: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    voters: Mapping[int, Sequence[Voter[int]]] = field(default_factory=dict)

    def top(self, label: int, n: int = 5) -> list[tuple[int, float]]:
        """The n features that added most to the label's score, with what they added."""
        pairs = zip(self.features, self.contributions[label], strict=True)
        return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:n]


@dataclass(frozen=True)
class Explained:
    """Why a document gets its labels: what `Zipfel.explain` returns.

    words: the document's words that the model knows.
    attention: of each word, from 0 to 1; empty if the method has none.
    contributions: by label, best first, what each word added to the score.
    scores: by label, what labels are ranked by.
    pieces: the text, cut into words and what is between them, each with the places in `words` that it belongs to.
    evidence: by label, what each kind of evidence added; their sum is the score.
    voters: by label, the training documents that voted for it, the strongest first.
    label: one of those that are explained. n: how many words or voters.

    >>> from zipfel import Zipfel
    >>> model = Zipfel("knn").fit(["a red bike", "a blue boat"], [["bike"], ["boat"]])
    >>> why = model.explain("my red bike", k=1)
    >>> list(why.scores), sorted(why.words)
    (['bike'], ['bike', 'red'])
    """

    words: Sequence[str]
    attention: Sequence[float]
    contributions: Mapping[str, Sequence[float]]
    scores: Mapping[str, float]
    pieces: Sequence[tuple[str, Sequence[int]]]
    evidence: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    voters: Mapping[str, Sequence[Voter[str]]] = field(default_factory=dict)

    def top(self, label: str, n: int = 5) -> list[tuple[str, float]]:
        """The n words that added most to the label's score, with what they added.

        >>> from zipfel import Zipfel
        >>> model = Zipfel("knn").fit(["a red bike", "a blue boat"], [["bike"], ["boat"]])
        >>> why = model.explain("my red bike", k=1)
        >>> sorted(word for word, added in why.top("bike"))
        ['bike', 'red']
        """
        pairs = zip(self.words, self._of(label), strict=True)
        return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:n]

    def _of(self, label: str) -> Sequence[float]:
        """What each word added to the label, if it is one of those that are explained."""
        if label not in self.contributions:
            there = ", ".join(repr(name) for name in self.contributions) or "none"
            hint = f"explain(document, labels=[{label!r}]) explains it, if the model knows it"
            raise ParameterError(f"the label {label!r} is not explained here; these are: {there}; {hint}")
        return self.contributions[label]

    def reasons(self, label: str, n: int = 5) -> list[str]:
        """Up to three lines to read: the n words that count most, the kinds of evidence, the n strongest voters.

        >>> from zipfel import Zipfel
        >>> model = Zipfel("knn").fit(["a red bike", "a blue boat"], [["bike"], ["boat"]])
        >>> why = model.explain("my red bike", k=1)
        >>> [line.partition(":")[0] for line in why.reasons("bike")]
        ['words', 'evidence', 'training rows']
        """
        words = ", ".join(f"{word} {added:+.2f}" for word, added in self.top(label, n) if added)
        kinds = ", ".join(f"{kind} {added:+.2f}" for kind, added in self.evidence.get(label, {}).items())
        voters = ", ".join(
            f"{voter.row} {voter.added:+.2f}" + (f" ({', '.join(voter.shared)})" if voter.shared else "")
            for voter in self.voters.get(label, ())[:n]
        )
        lines = {"words": words, "evidence": kinds, "training rows": voters}
        return [f"{name}: {told}" for name, told in lines.items() if told]

    def highlighted(self, label: str | None = None) -> str:
        """The text for a terminal, with words shaded by what they added to the label; None: by attention.

        >>> from zipfel import Zipfel
        >>> model = Zipfel("knn").fit(["a red bike", "a blue boat"], [["bike"], ["boat"]])
        >>> why = model.explain("my red bike", k=1)
        >>> "bike" in why.highlighted("bike")
        True
        """
        return to_terminal(*self._marked(label))

    def to_html(self, title: str = "Why these labels") -> str:
        """An HTML page with the text, its words shaded, once for each label. title: of the page.

        >>> from zipfel import Zipfel
        >>> model = Zipfel("knn").fit(["a red bike", "a blue boat"], [["bike"], ["boat"]])
        >>> why = model.explain("my red bike", k=1)
        >>> why.to_html().startswith("<!doctype html>")
        True
        """
        attention = self._section("attention", None) if self.attention else ""
        body = attention + "".join(self._section(self._headline(label), label) for label in self.contributions)
        head = f'<meta charset="utf-8"><title>{html.escape(title)}</title><style>{_STYLE}</style>'
        return (
            f"<!doctype html>\n<html><head>{head}</head>\n<body><h1>{html.escape(title)}</h1>\n{body}</body></html>\n"
        )

    def _section(self, name: str, label: str | None) -> str:
        reasons = self.reasons(label) if label is not None else []
        lines = "".join(f"<li>{html.escape(line)}</li>\n" for line in reasons)
        return f"<h2>{html.escape(name)}</h2>\n{to_html(*self._marked(label))}\n" + (
            f"<ul>{lines}</ul>\n" * bool(lines)
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: the words, and for each label its score and what words, evidence and voters added.

        >>> from zipfel import Zipfel
        >>> model = Zipfel("knn").fit(["a red bike", "a blue boat"], [["bike"], ["boat"]])
        >>> why = model.explain("my red bike", k=1)
        >>> why.to_dict()["labels"][0]["label"]
        'bike'
        """
        words: list[dict[str, Any]] = [{"word": word} for word in self.words]
        for word, share in zip(words, self.attention, strict=False):
            word["attention"] = round(share, 6)
        labels = []
        for label, added in self.contributions.items():
            told: dict[str, Any] = {"label": label, "score": self.scores.get(label)}
            if label in self.evidence:
                told["evidence"] = {kind: round(value, 6) for kind, value in self.evidence[label].items()}
            told["contributions"] = [round(value, 6) for value in added]
            if label in self.voters:
                told["voters"] = [
                    {"row": voter.row, "added": round(voter.added, 6), "words": list(voter.shared)}
                    for voter in self.voters[label]
                ]
            labels.append(told)
        return {"text": "".join(piece for piece, _ in self.pieces), "words": words, "labels": labels}

    def _headline(self, label: str) -> str:
        return f"{label} {self.scores[label]:.3f}" if label in self.scores else label

    def _marked(self, label: str | None) -> tuple[list[str], list[float]]:
        """The pieces with their weights. The smallest attention is subtracted, as attention is high for all words."""
        least = min(self.attention, default=0.0)
        weights = [share - least for share in self.attention] if label is None else self._of(label)
        return [piece for piece, _ in self.pieces], [sum(weights[i] for i in parts) for _, parts in self.pieces]


_STYLE = "body{font:16px/1.6 sans-serif;max-width:48em;margin:2em auto;padding:0 1em}p{white-space:pre-wrap}"


def cut(text: str, tokens: Sequence[Token], place: Mapping[str, int]) -> list[tuple[str, list[int]]]:
    """The text in pieces that together are the text. tokens: its words and n-grams, each word among them; place: of
    those that count."""
    words = sorted({(t.start, t.end) for t in tokens if " " not in t.token})
    starts, members = [start for start, _ in words], [list[int]() for _ in words]
    for token in tokens:
        if token.token in place:
            for i in range(bisect_left(starts, token.start), bisect_left(starts, token.end)):
                members[i].append(place[token.token])
    pieces: list[tuple[str, list[int]]] = []
    done = 0
    for (start, end), parts in zip(words, members, strict=True):
        pieces += [(text[done:start], []), (text[start:end], parts)]
        done = end
    return [piece for piece in [*pieces, (text[done:], [])] if piece[0]]


def to_terminal(pieces: Sequence[str], weights: Sequence[float]) -> str:
    """The pieces as one line for terminals with 256 colours. The background of each piece is as strong as its
    weight."""
    shown = []
    for piece, share in zip(pieces, _shares(weights), strict=True):
        shade = _SHADES[min(len(_SHADES) - 1, int(share * len(_SHADES)))]
        clean = "".join(_printable(sign) for sign in piece)
        shown.append(clean if shade == _SHADES[0] else f"\x1b[48;5;{shade};30m{clean}\x1b[0m")
    return "".join(shown)


def _printable(sign: str) -> str:
    """A document may not send escape codes, nor break the line."""
    return sign if sign.isprintable() else " " if sign.isspace() else ""


def to_html(pieces: Sequence[str], weights: Sequence[float]) -> str:
    """The pieces as a paragraph. The background of each piece is as strong as its weight."""
    spans = [
        f'<span style="background:rgba(255,140,0,{share:.2f})">{html.escape(piece)}</span>'
        if share
        else html.escape(piece)
        for piece, share in zip(pieces, _shares(weights), strict=True)
    ]
    return f"<p>{''.join(spans)}</p>"


def _shares(weights: Sequence[float]) -> list[float]:
    """Weights as shares of the largest; what is not above zero is zero."""
    largest = max([0.0, *weights])
    return [max(0.0, weight) / largest if largest > 0 else 0.0 for weight in weights]
