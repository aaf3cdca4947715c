"""Metrics as scorers for scikit-learn's searches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from zipfel.errors import ParameterError


@dataclass(frozen=True)
class Scorer:
    """Called with (model, X, y), as `scoring` is in `GridSearchCV` and `cross_val_score`."""

    metric: str

    def __post_init__(self) -> None:
        _, _, k = self.metric.partition("@")
        if not k.partition("[")[0].isdecimal() or int(k.partition("[")[0]) < 1:
            raise ParameterError(f"a scorer is named as in evaluate's answer, e.g. 'P@3', got {self.metric!r}")

    def __call__(self, model: Any, X: Any, y: Any) -> float:
        k = int(self.metric.partition("@")[2].partition("[")[0])
        found: dict[str, float] = model.evaluate(X, y, ks=(k,))
        if self.metric not in found:
            raise ParameterError(f"there is no metric {self.metric!r}; there are {', '.join(found)}")
        return found[self.metric]


def scorer(metric: str) -> Scorer:
    """A scorer for scikit-learn's `scoring`. metric: a name of `Zipfel.evaluate`'s answer.

    >>> from sklearn.model_selection import cross_val_score
    >>> from zipfel import Zipfel
    >>> texts, labels = ["a red bike", "a blue boat"] * 4, [["bike"], ["boat"]] * 4
    >>> cross_val_score(Zipfel("knn"), texts, labels, scoring=scorer("P@1"), cv=2).tolist()
    [1.0, 1.0]
    """
    return Scorer(metric)
