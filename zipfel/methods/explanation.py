"""Why a document got its labels: words with their weights, as data, in colour for the terminal, and as HTML."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

_SHADES = (255, 230, 223, 216, 209)
"""Terminal colours of the 256-colour palette, from no weight to the most."""


@dataclass(frozen=True)
class Explanation:
    """One document's words and what each was worth.

    features: ids of the words in the document. attention: how much attention lets through of each, 0 to 1.
    contributions: by label id, what each word added to (or took from) that label's score.
    """

    features: Sequence[int]
    attention: Sequence[float]
    contributions: Mapping[int, Sequence[float]] = field(default_factory=dict)

    def top(self, label: int, n: int = 5) -> list[tuple[int, float]]:
        """The n features that speak most for the label, with what they added."""
        pairs = zip(self.features, self.contributions[label], strict=True)
        return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:n]


def contributions(words: Tensor, score: Callable[[Tensor], Tensor], labels: Sequence[int]) -> dict[int, list[float]]:
    """What each of a document's words (t, C), which are summed and then scored, adds to the score of each label.

    score: from the sum (1, C) to the scores (n_labels,). A word's part is the inner product with the score's slope
    at the sum; where the score is linear, the parts add up to it.
    """
    pooled = words.sum(dim=0, keepdim=True).requires_grad_()
    scores = score(pooled)
    found = {}
    for label in labels:
        (slope,) = torch.autograd.grad(scores[label], pooled, retain_graph=True)  # (1, C)
        found[label] = (words @ slope[0]).tolist()
    return found


def to_terminal(tokens: Sequence[str], weights: Sequence[float]) -> str:
    """The tokens as one line, each on a background as strong as its weight; for terminals with 256 colours."""
    shown = []
    for token, share in zip(tokens, _shares(weights), strict=True):
        shade = _SHADES[min(len(_SHADES) - 1, int(share * len(_SHADES)))]
        clean = "".join(sign for sign in token if sign.isprintable())  # a document may not send escape codes
        shown.append(clean if shade == _SHADES[0] else f"\x1b[48;5;{shade};30m{clean}\x1b[0m")
    return " ".join(shown)


def to_html(tokens: Sequence[str], weights: Sequence[float]) -> str:
    """The tokens as a paragraph, each on a background as strong as its weight."""
    spans = [
        f'<span style="background:rgba(255,140,0,{share:.2f})">{html.escape(token)}</span>'
        for token, share in zip(tokens, _shares(weights), strict=True)
    ]
    return f"<p>{' '.join(spans)}</p>"


def _shares(weights: Sequence[float]) -> list[float]:
    """Weights as shares of the largest; what is not above zero is zero."""
    largest = max([0.0, *weights])
    return [max(0.0, weight) / largest if largest > 0 else 0.0 for weight in weights]
