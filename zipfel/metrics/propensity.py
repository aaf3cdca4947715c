"""Propensities: how likely a true label is written down at all, after Jain et al. 2016.

    C = (ln N - 1) (B + 1)^A        1 / p_l = 1 + C (N_l + B)^-A

N: training points. N_l: training points with label l. Annotators often miss rare labels, so a hit of a rare label
counts more.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from zipfel.errors import ParameterError, nearest


@dataclass(frozen=True)
class Propensity:
    """The constants of the propensity model. docs/metrics.md has the formula.

    A, B: its two constants; the defaults are those of most data sets. n_train: training documents.

    >>> Propensity().inverse(np.array([1000, 1]), 10_000).round(1).tolist()
    [1.3, 9.2]
    """

    A: float = 0.55
    B: float = 1.5

    @classmethod
    def of(cls, dataset: str) -> Propensity:
        """The constants of a data set of the Extreme Classification Repository; the defaults if it is not known.

        dataset: its name in any spelling.

        >>> Propensity.of("wikipedia500k")
        Propensity(A=0.5, B=0.4)
        """
        name = _plain(dataset)
        return next((found for start, found in _PRESETS.items() if name.startswith(_plain(start))), cls())

    @classmethod
    def parse(cls, word: str) -> Propensity:
        """The constants that a word stands for: "A,B", or a data set of the Extreme Classification Repository.

        >>> Propensity.parse("AmazonTitles-670K") == Propensity.parse("0.6,2.6")
        True
        """
        first, comma, second = word.partition(",")
        if comma:
            try:
                return cls(float(first), float(second))
            except ValueError:
                raise ParameterError(f"propensity is A,B, such as 0.55,1.5, or a data set; got {word!r}") from None
        known = {_plain(name): name for name in (*_PRESETS, *_USUAL)}
        if _plain(word) not in known:
            raise ParameterError(f"no propensity is known for the data set {word!r}{nearest(word, known.values())}")
        return cls.of(word)

    def __post_init__(self) -> None:
        if not (math.isfinite(self.A) and self.A >= 0 and math.isfinite(self.B) and self.B > 0):
            raise ParameterError(f"propensity needs A from 0 on and B above 0, got {self.A:g},{self.B:g}")

    def inverse(self, counts: npt.NDArray[np.integer], n_train: int) -> npt.NDArray[np.float64]:
        """1 / p_l of each label, at least 1. counts: (n_labels,) training documents with the label.

        >>> Propensity().inverse(np.array([10]), 100).round(2).tolist()
        [2.56]
        """
        C = max(0.0, math.log(max(n_train, 1)) - 1) * (self.B + 1) ** self.A  # ln N < 1 would turn the weights round
        smoothed = np.asarray(counts, dtype=np.float64) + self.B
        return np.asarray(1 + C * smoothed**-self.A)

    def table(self, most: int, n_train: int) -> npt.NDArray[np.float64]:
        """1 / p of a label by its number of training documents, from 0 to most.

        >>> Propensity().table(1, 100).shape
        (2,)
        """
        return self.inverse(np.arange(int(most) + 1), n_train)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


_WIKI, _AMAZON = Propensity(0.5, 0.4), Propensity(0.6, 2.6)
_PRESETS = {
    "WikiLSHTC-325K": _WIKI,
    "Wikipedia-500K": _WIKI,
    "WikiTitles-500K": _WIKI,
    "Amazon-670K": _AMAZON,
    "Amazon-3M": _AMAZON,
    "AmazonTitles-670K": _AMAZON,
    "AmazonTitles-3M": _AMAZON,
}
_USUAL = (
    "Bibtex", "Delicious", "Mediamill", "EURLex-4K", "Wiki10-31K", "AmazonCat-13K", "AmazonCat-14K", "Delicious-200K",
    "WikiSeeAlsoTitles-350K",
)  # fmt: skip
"""Data sets whose constants are the defaults."""
