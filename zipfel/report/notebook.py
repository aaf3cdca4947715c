"""The report's figures one by one, for notebooks and files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from zipfel.classifier import Zipfel
from zipfel.data import BUCKETS
from zipfel.errors import DataError
from zipfel.report.figures import Bars, alone, bar_chart, curve, reliability_diagram
from zipfel.report.training import curve_charts, gains_chart, seconds_chart, training_of


class Figure:
    """A figure as SVG: a notebook shows it, `save` writes it to a file.

    svg: the picture.

    >>> Figure("<svg></svg>").svg
    '<svg></svg>'
    """

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> None:
        """Writes the picture. path: a file that ends in .svg.

        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     Figure("<svg></svg>").save(f"{folder}/figure.svg")
        """
        Path(path).write_text(self.svg, encoding="utf-8")


def reliability_figure(model: Zipfel, X: Any, y: Any = None, *, k: int = 5) -> Figure:
    """Probabilities against the share of labels that are true; a calibrated model lies on the diagonal.

    model: a fitted model. X, y: documents and labels that it was not trained on. k: labels of each document.

    >>> texts, labels = ["a red bike", "a blue boat"] * 20, [["bike"], ["boat"]] * 20
    >>> reliability_figure(Zipfel("knn").fit(texts, labels), texts, labels, k=1).svg[:4]
    '<svg'
    """
    found = model.reliability(X, y, k=k)
    if found is None:
        raise DataError("the scores of this model are no probabilities, so there is no reliability diagram")
    return Figure(alone(reliability_diagram(found.probability, found.share, found.size, "Reliability diagram")))


def recall_figure(model: Zipfel, X: Any, y: Any = None, *, k: int = 5) -> Figure:
    """Recall of the first k labels for head, torso and tail labels.

    model: a fitted model. X, y: documents and labels that it was not trained on. k: labels of each document.

    >>> texts, labels = ["a red bike", "a blue boat"] * 20, [["bike"], ["boat"]] * 20
    >>> "torso" in recall_figure(Zipfel("knn").fit(texts, labels), texts, labels, k=1).svg
    True
    """
    scores = model.evaluate(X, y, ks=(k,))
    recalls = [100 * scores[f"R@{k}[{bucket}]"] for bucket in BUCKETS]
    return Figure(alone(bar_chart(Bars(BUCKETS, [(f"R@{k}", recalls)]), "Recall by label frequency")))


def frequency_figure(model: Zipfel) -> Figure:
    """Training documents of each label by its rank, on logarithmic axes. model: a fitted model.

    >>> texts, labels = ["a red bike", "a blue boat"] * 20, [["bike"], ["boat"]] * 20
    >>> frequency_figure(Zipfel("knn").fit(texts, labels)).svg[:4]
    '<svg'
    """
    falling = np.sort(model.label_counts_[model.label_counts_ > 0])[::-1]
    points = [(float(rank), float(count)) for rank, count in enumerate(falling.tolist(), 1)]
    return Figure(alone(curve(points, "Documents of a label by its rank", "rank of the label", "training documents")))


def training_figures(model: Zipfel) -> list[Figure]:
    """The training loss and the validation metric by epoch, seconds by phase, and the gains of auto's parts.

    model: a fitted model. Only methods that train by epochs have curves.

    >>> texts, labels = ["a red bike", "a blue boat"] * 20, [["bike"], ["boat"]] * 20
    >>> len(training_figures(Zipfel("knn").fit(texts, labels)))
    1
    """
    training = training_of(model.training_, model.method_.state().facts.get("plan", []))
    charts = [chart for curve in training.curves for _, chart in curve_charts(curve)]
    charts += [seconds_chart(training), gains_chart(training)]
    return [Figure(alone(chart)) for chart in charts if chart]
