"""What an estimator does with its probabilities: sets of labels, their measurement, and calibration on other data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.calibration import Calibration
from zipfel.data import Dataset, Vocabulary
from zipfel.data.remarks import remarks_on_unknown, warn
from zipfel.decisions import Objective, Thresholds, parse_threshold
from zipfel.decisions.objectives import CANDIDATES
from zipfel.decisions.thresholds import kept_labels
from zipfel.errors import ModelFileError, ParameterError
from zipfel.estimator.frames import Names
from zipfel.estimator.inputs import aligned, as_dataset_of_any, documents_of, with_columns
from zipfel.estimator.label_changes import LabelChanges
from zipfel.estimator.probabilities import learned_from, rank_held_out
from zipfel.estimator.rows import RowMaker
from zipfel.estimator.snapshots import Snapshots
from zipfel.estimator.vocabularies import named_alike
from zipfel.methods import Method, Points
from zipfel.metrics import LabelReport, Propensity, calibration_errors, evaluate
from zipfel.metrics.calibration import Reliability, reliability, top_pairs
from zipfel.metrics.sets import evaluate_sets
from zipfel.points import Sources
from zipfel.ranking import Ranking
from zipfel.system.interrupts import holding_signals
from zipfel.system.threads import use_threads

Self = TypeVar("Self", bound="Deciding")


USUAL = 5
"""Labels of a document where nothing else is said."""


class Chooser(NamedTuple):
    """width: labels that have to be ranked; choose: takes that ranking, and leaves those that are accepted."""

    width: int
    choose: Callable[[Ranking], Ranking]


class Measured(NamedTuple):
    """scores: by metric; truth: (n, n_labels or more), labels that the model does not know behind its own."""

    scores: dict[str, float]
    ranking: Ranking
    truth: sp.csr_matrix


class Deciding(Snapshots):
    """Of a fitted estimator; `Zipfel` inherits it."""

    threads: int | None
    n_labels_: int
    label_names_: list[str] | None
    label_counts_: npt.NDArray[Any]
    label_changes_: LabelChanges
    vocabulary_: Vocabulary | None
    training_: dict[str, Any]
    metrics_: dict[str, float]
    method_: Method
    rows_: RowMaker
    calibration_: Calibration | None
    thresholds_: Thresholds

    def _ranked(self, documents: Any, k: int) -> Ranking:
        raise NotImplementedError

    def _read(self, documents: Any) -> tuple[sp.csr_matrix, Sources]:
        raise NotImplementedError

    def _points(self, method: Method, rows: sp.csr_matrix, Y: sp.csr_matrix, sources: Sources) -> Points:
        raise NotImplementedError

    # -- sets of labels

    def predict_proba(self, X: Any, k: int = 100, *, text: Names = None, embeddings: Any = None) -> sp.csr_matrix:
        """Probabilities of the k best labels of each document, sparse (n, n_labels). The others are not stored.

        >>> from zipfel import Zipfel
        >>> model = Zipfel("knn").fit(["a red bike", "a blue boat"], [["bike"], ["boat"]])
        >>> model.predict_proba(["a red bike"]).shape
        (1, 2)
        """
        now = self._fitted()
        return now._ranked(documents_of(X, text, embeddings), min(k, now.n_labels_)).to_csr(now.n_labels_)

    @holding_signals
    def predict_sets(
        self,
        X: Any,
        *,
        threshold: float | str | None = None,
        limit: int | None = None,
        optimise: str | None = None,
        together: bool = False,
        text: Names = None,
        embeddings: Any = None,
    ) -> Ranking:
        """The accepted labels of each document, best first, with their probabilities. Rows differ in length.

        threshold: a probability; "auto" (default): the thresholds with the best micro-F1 on held-out documents;
        "auto:document": the one with the best mean F1 of a document.
        limit: the most labels of a document.
        optimise: a metric instead of a threshold: precision, recall, micro-f1, macro-f1, psp or coverage. Each document
        gets the `limit` labels (5 by default) that are best by it.
        together: choose for all documents of X at once, so that their expected metric is largest.

        >>> from zipfel import Zipfel
        >>> model = Zipfel("knn").fit(["a red bike", "a blue boat"] * 20, [["bike"], ["boat"]] * 20)
        >>> model.predict_sets(["a bike", "a boat"], threshold=0.5).names
        [['bike'], ['boat']]
        """
        now = self._fitted()
        width, choose = now.chooser(threshold, limit, optimise, together=together)
        return choose(now._ranked(documents_of(X, text, embeddings), width)).with_names(now.label_names_)

    def chooser(
        self,
        threshold: float | str | None = None,
        limit: int | None = None,
        optimise: str | None = None,
        *,
        together: bool = False,
    ) -> Chooser:
        """What `predict_sets` does with a ranking of `width` labels: for programs that have the ranking already.

        threshold, limit, optimise, together: as in `predict_sets`.

        >>> from zipfel import Zipfel
        >>> model = Zipfel("knn").fit(["a red bike", "a blue boat"] * 20, [["bike"], ["boat"]] * 20)
        >>> width, choose = model.chooser(threshold=0.5)
        >>> choose(model.predict(["a bike"], k=width)).names
        [['bike']]
        """
        if limit is not None and (not isinstance(limit, int | np.integer) or limit < 1):
            raise ParameterError(f"limit must be at least 1, got {limit!r}")
        if together and optimise is None:
            raise ParameterError("labels of all documents are chosen together for a metric: name it with optimise")
        if optimise is None:
            accepted = parse_threshold("auto" if threshold is None else threshold)
            return Chooser(
                min(self.n_labels_, CANDIDATES if limit is None else max(limit, CANDIDATES)),
                lambda wide: kept_labels(wide, self.thresholds_.accepted(wide, self.label_counts_, accepted), limit),
            )
        if threshold is not None:
            raise ParameterError("threshold and optimise are two ways to choose labels: give one of them")
        n_points = int(self.training_["n_points"])
        objective = Objective(optimise, self.thresholds_, self.label_counts_, n_points, self._propensity())
        choose, k = objective.together if together else objective.best, limit or USUAL
        return Chooser(min(self.n_labels_, max(CANDIDATES, k)), lambda wide: choose(wide, k))

    # -- measuring

    @holding_signals
    def evaluate(
        self,
        X: Any,
        y: Any = None,
        *,
        ks: Sequence[int] = (1, 3, 5),
        threshold: float | str | None = None,
        propensity: str | None = None,
        text: Names = None,
        labels: str | None = None,
        embeddings: Any = None,
    ) -> dict[str, float]:
        """All metrics of the predictions for X against the true labels y, by name; docs/metrics.md has the formulas.

        ks: the k of "P@k" and so on.
        threshold: as in `predict_sets`; adds metrics of the labels that reach it ("micro-F1@t", ...).
        propensity: "A,B" of PSP and PSnDCG, or a data set that has them. None: those that the model was fitted with.

        >>> from zipfel import Zipfel
        >>> texts, tags = ["a red bike", "a blue boat"] * 20, [["bike"], ["boat"]] * 20
        >>> model = Zipfel("knn").fit(texts, tags)
        >>> scores = model.evaluate(texts, tags, ks=(1,))
        >>> scores["P@1"], scores["R@1[torso]"]
        (1.0, 1.0)
        """
        return self.measure(
            X, y, ks=ks, threshold=threshold, propensity=propensity, text=text, labels=labels, embeddings=embeddings
        ).scores

    def measure(
        self,
        X: Any,
        y: Any = None,
        *,
        ks: Sequence[int] = (1, 3, 5),
        threshold: float | str | None = None,
        propensity: str | None = None,
        text: Names = None,
        labels: str | None = None,
        embeddings: Any = None,
    ) -> Measured:
        """What `evaluate` gives, with the ranking and the truth that the metrics come from.

        ks, threshold, propensity: as in `evaluate`.

        >>> from zipfel import Zipfel
        >>> texts, tags = ["a red bike", "a blue boat"] * 20, [["bike"], ["boat"]] * 20
        >>> model = Zipfel("knn").fit(texts, tags)
        >>> model.measure(texts, tags).ranking.shape
        (40, 2)
        """
        now = self._fitted()
        weigh = now._propensity() if propensity is None else Propensity.parse(propensity)
        ks = tuple(ks)
        chooser = None if threshold is None else now.chooser(threshold)
        ranking = now._ranked(documents_of(X, text, embeddings), max((*ks, chooser.width if chooser else 1)))
        data = as_dataset_of_any(X, y, text=text, labels=labels)
        truth = now._truth(data)
        warn(remarks_on_unknown(truth, now.label_counts_ > 0, now.label_names_, data.label_names))
        n_points = int(now.training_["n_points"])
        found = evaluate(ranking, truth, train_counts=now.label_counts_, n_train=n_points, ks=ks, propensity=weigh)
        found |= calibration_errors(ranking, truth, ks=ks)
        if chooser is not None:
            found |= evaluate_sets(chooser.choose(ranking), truth)
        return Measured(found, ranking, truth)

    @holding_signals
    def reliability(self, X: Any, y: Any = None, *, k: int = 5) -> Reliability | None:
        """How often labels of each probability are true, for a reliability diagram. None: scores are no probabilities.

        k: labels of each document that are counted.

        >>> from zipfel import Zipfel
        >>> texts, tags = ["a red bike", "a blue boat"] * 20, [["bike"], ["boat"]] * 20
        >>> model = Zipfel("knn").fit(texts, tags)
        >>> sum(model.reliability(texts, tags, k=1).size)
        40
        """
        now = self._fitted()
        p, hits = top_pairs(now._ranked(documents_of(X, None), k), now._truth(as_dataset_of_any(X, y)), k)
        return reliability(p, hits) if len(p) and p.min() >= 0 and p.max() <= 1 else None

    @holding_signals
    def label_report(
        self,
        X: Any,
        y: Any = None,
        *,
        k: int = USUAL,
        threshold: float | str | None = None,
        text: Names = None,
        labels: str | None = None,
        embeddings: Any = None,
    ) -> LabelReport:
        """Precision, recall, F1 and support of each label, and the labels most missed and most wrongly given.

        The first k labels of a document count as given, or with a threshold those that reach it.

        >>> from zipfel import Zipfel
        >>> texts, tags = ["a red bike", "a blue boat"] * 20, [["bike"], ["boat"]] * 20
        >>> report = Zipfel("knn").fit(texts, tags).label_report(texts, tags, k=1)
        >>> report.rows()[0]["f1"], report.most_missed()
        (1.0, [])
        """
        now = self._fitted()
        chooser = Chooser(min(k, now.n_labels_), lambda found: found) if threshold is None else now.chooser(threshold)
        given = chooser.choose(now._ranked(documents_of(X, text, embeddings), chooser.width))
        data = as_dataset_of_any(X, y, text=text, labels=labels)
        known = aligned(named_alike(data, now.label_names_, now.vocabulary_), now.label_names_, now.n_labels_)
        truth = now.label_changes_.of_labels(known.Y)
        return LabelReport.of(given, truth, now.label_counts_, known.label_names)

    def score(self, X: Any, y: Any) -> float:
        """P@1, for scikit-learn's searches.

        >>> from zipfel import Zipfel
        >>> texts, tags = ["a red bike", "a blue boat"] * 20, [["bike"], ["boat"]] * 20
        >>> model = Zipfel("knn").fit(texts, tags)
        >>> model.score(texts, tags)
        1.0
        """
        return self.evaluate(X, y, ks=(1,))["P@1"]

    def _propensity(self) -> Propensity:
        """The constants that the model was fitted with; a model file may come from anywhere."""
        try:
            A, B = self.training_.get("propensity") or (Propensity.A, Propensity.B)
            return Propensity(float(A), float(B))
        except (TypeError, ValueError, ParameterError) as error:
            raise ModelFileError(f"the model's propensity constants are damaged: {error}") from None

    def _truth(self, data: Dataset) -> sp.csr_matrix:
        """True labels in the model's columns; labels that the model does not know stand behind them."""
        own = aligned(named_alike(data, self.label_names_, self.vocabulary_), self.label_names_, self.n_labels_).Y
        return self.label_changes_.of_labels(own)

    # -- calibrating

    @holding_signals
    def calibrate(
        self: Self,
        X: Any,
        y: Any = None,
        *,
        text: Names = None,
        labels: str | None = None,
        embeddings: Any = None,
    ) -> Self:
        """Learns new probabilities and thresholds from tagged documents that the model was not trained on.

        The ranking stays the same. A hundred documents already help if they differ from the training set.

        >>> from zipfel import Zipfel
        >>> texts, tags = ["a red bike", "a blue boat"] * 20, [["bike"], ["boat"]] * 20
        >>> model = Zipfel("knn").fit(texts, tags)
        >>> model.calibrate(["red bikes", "blue boats"] * 10, [["bike"], ["boat"]] * 10).predict(["a bike"], k=1).names
        [['bike']]
        """
        now = self._fitted()
        rows, sources = now._read(documents_of(X, text, embeddings))
        truth = with_columns(now._truth(as_dataset_of_any(X, y, text=text, labels=labels)), now.n_labels_)
        with use_threads(now.threads):
            held = rank_held_out(now.method_, now._points(now.method_, rows, truth, sources), now.label_counts_)
        gives = now.method_.gives_probabilities and now.calibration_ is None
        now.calibration_, now.thresholds_ = learned_from(held, gives_probabilities=gives)
        now.metrics_ = {}
        return self._become(now)
