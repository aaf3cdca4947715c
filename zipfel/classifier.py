"""`Zipfel`, the estimator users import: fit, predict, evaluate, save, load, by scikit-learn's conventions."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.calibration import Calibration
from zipfel.conventions import Conventions, refuse_other_names
from zipfel.data import Dataset, Vocabulary
from zipfel.deciding import Deciding
from zipfel.decisions import Thresholds
from zipfel.errors import DataError, ModelFileError, NotFittedError, ParameterError, ZipfelError
from zipfel.explaining import label_id, named, one_row
from zipfel.explanation import Explained
from zipfel.frames import Names
from zipfel.halting import holding_signals
from zipfel.inputs import (
    aligned,
    as_dataset,
    as_dataset_of_any,
    check_trainable,
    documents_of,
    validation_dataset,
    with_columns,
)
from zipfel.label_changes import NO_CHANGES, LabelChanges
from zipfel.methods import Method, Points, State, make_method
from zipfel.methods.registry import methods_with
from zipfel.persistence import ModelFiles, arrays_within, check_kept, load_model, read_names, save_model
from zipfel.points import Texts
from zipfel.probabilities import fit_calibrated, with_probabilities
from zipfel.ranking import Ranking
from zipfel.rows import RowMaker
from zipfel.run import Run
from zipfel.threads import use_threads
from zipfel.vocabularies import AnyVocabulary, extended, kept_vocabulary, label_texts, named_alike, with_vocabulary

Self = TypeVar("Self", bound="Zipfel")
_MISFITS = (ZipfelError, LookupError, TypeError, ValueError, AttributeError, RuntimeError, ArithmeticError, MemoryError)
"""What parts of a model folder raise that do not fit together."""

_RUN = 1 << 14
"""Documents of a data set that are ranked together."""


class Zipfel(Deciding, Conventions):
    """Tags documents with the right few of many labels.

    >>> model = Zipfel(method="knn").fit(["a red bike", "a blue boat"], [["bike"], ["boat"]])
    >>> next(model.predict(["red bikes and a bike"], k=1).rows())[0][0]
    'bike'

    method: which system learns (`zipfel methods` lists them); preset: a named set of its parameters.
    weighting: for ready-made sparse features: none, l2, tfidf, or auto (chosen on a split of train).
    vectorizer: parameters of the text features, e.g. {"ngrams": 2}.
    valid_share: share of train that is held out for the method's choices; None leaves that to the method.
    params: the method's own parameters, e.g. n_neighbors=50.
    """

    def __init__(
        self,
        method: str = "auto",
        *,
        preset: str | None = None,
        weighting: str = "auto",
        vectorizer: Mapping[str, Any] | None = None,
        valid_share: float | None = None,
        seed: int = 0,
        threads: int | None = None,
        time_budget: float | None = None,
        device: str = "cpu",
        **params: Any,
    ) -> None:
        self._join_scikit_learn()
        refuse_other_names(params, set())
        self.method = method
        self.preset = preset
        self.weighting = weighting
        self.vectorizer = vectorizer
        self.valid_share = valid_share
        self.seed = seed
        self.threads = threads
        self.time_budget = time_budget
        self.device = device
        self._params = params

    # -- learning --------------------------------------------------------------------------------------------------

    @holding_signals
    def fit(
        self: Self,
        X: Any,
        y: Any = None,
        *,
        valid: Any = None,
        label_names: Sequence[str] | None = None,
        vocabulary: AnyVocabulary | None = None,
        unknown_labels: str = "skip",
        text: Names = None,
        labels: str | None = None,
        run: Run | None = None,
    ) -> Self:
        """Learns from texts or a matrix X and labels y (0/1 matrix, lists of names, or lists of ids), or a Dataset.

        text, labels: columns, where X is a DataFrame.
        vocabulary: concepts, or their file; labels are their identifiers or unique names, and every concept can be
        predicted. unknown_labels: skip labels that are no concept, or refuse them.
        """
        train = as_dataset(X, y, label_names=label_names, text=text, labels=labels)
        if self.valid_share is not None and not 0 < self.valid_share < 1:
            raise ParameterError(f"valid_share must lie between 0 and 1, got {self.valid_share!r}")
        run = run or Run(seed=self.seed, time_budget=self.time_budget, device=self.device)
        if self.threads is not None:
            run.threads = self.threads
            run.check()
        self.vocabulary_: Vocabulary | None = None
        if vocabulary is not None:
            train, self.vocabulary_ = with_vocabulary(train, vocabulary, unknown_labels, run)
        check_trainable(train)
        with use_threads(run.threads):
            self._fit(train, None if valid is None else validation_dataset(valid, text=text, labels=labels), run)
        return self

    def _fit(self, train: Dataset, valid: Dataset | None, run: Run) -> None:
        start = time.monotonic()
        method = make_method(self.method, self._params, self.preset)
        self.label_names_ = list(train.label_names) if train.label_names is not None else None
        self.n_labels_ = train.n_labels
        self.label_counts_ = train.label_counts()
        self.rows_ = RowMaker()
        rows = self.rows_.fit_transform(train, run, weighting=self.weighting, vectorizer=self.vectorizer)
        self.n_features_in_ = self.rows_.n_features
        run.feature_names, run.label_names = self.rows_.feature_names, self.label_names_
        run.label_texts = label_texts(self.label_names_, self.vocabulary_)
        points = self._points(method, rows, train.Y, train.texts)
        held = None
        if valid is not None:
            held_rows, texts = self.rows_.read(valid)
            held = self._points(method, held_rows, with_columns(self._truth(valid), train.n_labels), texts)
        if held is None and self.valid_share is not None:
            points, held = points.split(self.valid_share, run.rng(0))
        self.calibration_, self.thresholds_ = fit_calibrated(method, points, held, run)
        self.method_ = method
        self.training_: dict[str, Any] = {
            "n_points": train.n_points,
            "data": train.name,
            "fingerprint": train.fingerprint(),
            "seed": run.seed,
            "threads": run.threads,
            "seconds": round(time.monotonic() - start, 3),
            "timings": {phase: round(seconds, 3) for phase, seconds in run.timings.items()},
        }
        self.metrics_: dict[str, float] = {}
        self.label_changes_ = NO_CHANGES

    def _points(self, method: Method, rows: sp.csr_matrix, Y: sp.csr_matrix, texts: Texts | None) -> Points:
        """With their texts where they were made of texts and the method reads them."""
        kept = method.reads_texts and self.rows_.vectorizer is not None
        return Points(rows, Y, texts if kept else None)

    @holding_signals
    def partial_fit(self: Self, X: Any, y: Any = None, *, label_names: Sequence[str] | None = None) -> Self:
        """Adds documents to a fitted model without training it again: they have a vote at once, for new labels too.

        Only methods whose training points vote can do that. A model that is not fitted yet is fitted.
        """
        if not hasattr(self, "method_"):
            return self.fit(X, y, label_names=label_names)
        (rows, texts), learn = self.rows_.read(X), self._able("partial_fit")
        given = as_dataset_of_any(X, y) if label_names is None else as_dataset(X, y, label_names=label_names)
        if given.label_names is not None and self.label_names_ is None:
            raise DataError("the model knows its labels by number, the new documents by name: use numbers for both")
        data = aligned(named_alike(given, self.label_names_, self.vocabulary_), self.label_names_, self.n_labels_)
        data = replace(data, Y=self.label_changes_.of_labels(data.Y))
        with use_threads(self.threads):
            learn(self._points(self.method_, rows, data.Y, texts))
        if self.label_names_ is not None and data.label_names is not None:
            self.label_names_ = list(data.label_names)
        self.vocabulary_ = extended(self.vocabulary_, self.label_names_, self.n_labels_)
        self.label_counts_ = np.pad(self.label_counts_, (0, data.n_labels - self.n_labels_)) + data.label_counts()
        self.n_labels_ = data.n_labels
        self.training_ = {**self.training_, "n_points": int(self.training_["n_points"]) + data.n_points}
        self.metrics_ = {}
        return self

    def _able(self, verb: str) -> Any:
        """What the method offers beyond the contract, or in words that it does not."""
        found = getattr(self.method_, verb, None)
        if found is None:
            raise ParameterError(f"method {self.method!r} has no {verb}; these have: {', '.join(methods_with(verb))}")
        if hasattr(self.method_, "ranker_") and hasattr(self.method_, "plain"):  # auto and ova have one of their own
            raise ParameterError(f"{verb} does not reach the ranker of this model: fit it without ranker.enabled")
        return found

    # -- answering -------------------------------------------------------------------------------------------------

    @holding_signals
    def predict(self, X: Any, k: int = 5, *, text: Names = None) -> Ranking:
        """The k best labels of each document, best first, with their probabilities.

        A ranking has no more columns than there are labels. A bonus for rare labels counts in the order but not in the
        probabilities, so these may rise within a row. text: the column with the texts, or several, where X is a
        DataFrame.
        """
        self._check_fitted()
        if not isinstance(k, int | np.integer) or k < 1:
            raise ParameterError(f"k must be at least 1, got {k!r}")
        found = self._ranked(documents_of(X, text), min(k, self.n_labels_))
        return found.with_names(self.label_names_)

    def _ranked(self, documents: Any, k: int) -> Ranking:
        """A data set in runs of rows, so that packed data are never in memory as a whole."""
        runs: Iterable[Any] = [documents]
        if isinstance(documents, Dataset) and len(documents) > _RUN:
            runs = documents.runs(_RUN)
        parts = []
        for run in runs:
            rows, texts = self.rows_.read(run)
            with use_threads(self.threads):
                parts.append(self._ranking(rows, k, texts))
        return parts[0] if len(parts) == 1 else Ranking.concatenate(parts)

    def _ranking(self, rows: sp.csr_matrix, k: int, texts: Texts | None) -> Ranking:
        def rank(k: int) -> Ranking:
            found = self.method_.ranked(rows, k, texts)
            return with_probabilities(self.method_, found, self.calibration_, self.label_counts_)

        return self.label_changes_.ranked(rank, k, self.n_labels_)

    def predict_scores(self, X: Any, k: int = 100) -> sp.csr_matrix:
        """(n, n_labels) CSR with the scores of the k best labels of each document."""
        return self.predict(X, min(k, self.n_labels_)).to_csr(self.n_labels_)

    @holding_signals
    def explain(self, document: Any, labels: Sequence[str | int] | None = None, k: int = 5) -> Explained:
        """Why one document, a text or a row of features, got its k best labels, or why it would get the given ones.

        The scores are what the labels are ranked by, so that the evidence adds up to them; they are no probabilities.
        """
        self._check_fitted()
        names = self.label_names_ or [str(i) for i in range(self.n_labels_)]
        asked = None if labels is None else [label_id(label, names) for label in labels]
        documents = [document] if isinstance(document, str) else document
        row, texts = one_row(self.rows_, documents)
        with use_threads(self.threads):
            ranking = self.label_changes_.ranked(lambda k: self.method_.ranked(row, k, texts), k, self.n_labels_)
            best = {
                int(i): float(score) for i, score in zip(ranking.labels[0], ranking.scores[0], strict=True) if i >= 0
            }
            explain = self._able("explain")
            with_texts = {"texts": texts} if self.method_.reads_texts else {}
            found = explain(row, list(best) if asked is None else asked, **with_texts)
        return named(found, best, names, self.rows_, document)

    def _check_fitted(self) -> None:
        if not hasattr(self, "method_"):
            raise NotFittedError("this Zipfel is not fitted yet: call fit first, or Zipfel.load(folder)")

    # -- keeping ---------------------------------------------------------------------------------------------------

    def save(self, folder: str | Path, *, force: bool = False) -> None:
        """Writes the model folder; an older model in its place is replaced in one step when the new one is complete.

        force: replace a folder that holds something else than a model, too.
        """
        self._check_fitted()
        state = self.method_.state()
        arrays: dict[str, npt.NDArray[Any]] = {f"method.{name}": array for name, array in state.arrays.items()}
        arrays["label_counts"] = self.label_counts_
        arrays.update(self.rows_.arrays())
        documents = self.rows_.documents()
        if self.label_names_ is not None:
            documents["labels"] = self.label_names_
        if self.vocabulary_ is not None:
            documents["vocabulary"] = self.vocabulary_.to_json()
        save_model(folder, ModelFiles(self._config(state), arrays, documents), force)

    def _config(self, state: State) -> dict[str, Any]:
        return {
            "method": self.method,
            "params": self.method_.config.to_dict(),
            "estimator": {name: getattr(self, name) for name in self._own_names() if name != "method"},
            "given": dict(self._params),
            "weighting": self.rows_.weighting.kind,
            "n_features": self.n_features_in_,
            "n_labels": self.n_labels_,
            "training": self.training_,
            "metrics": self.metrics_,
            "facts": dict(state.facts),
            "label_changes": self.label_changes_.facts() if self.label_changes_ else None,
            "calibration": None if self.calibration_ is None else self.calibration_.facts(),
            "thresholds": self.thresholds_.facts(),
        }

    @classmethod
    @holding_signals
    def load(cls: type[Self], folder: str | Path) -> Self:
        """Reads a model folder; `ModelFileError` says what is wrong with one that can't be used."""
        files = load_model(folder)
        try:
            return cls._restored(files)
        except ModelFileError:
            raise
        except _MISFITS as error:
            raise ModelFileError(f"{folder} is damaged: its parts do not fit together ({error})") from error

    @classmethod
    def _restored(cls: type[Self], files: ModelFiles) -> Self:
        config = files.config
        model = cls(config["method"], **{**config["estimator"], **config["given"]})
        n_features, n_labels = int(config["n_features"]), int(config["n_labels"])
        model.n_features_in_, model.n_labels_ = n_features, n_labels
        model.training_, model.metrics_ = dict(config["training"]), dict(config["metrics"])
        check_kept(model.threads, model.training_["n_points"])
        counts = State(files.arrays).array("label_counts", shape=(n_labels,))
        if counts.dtype.kind != "i" or counts.min(initial=0) < 0:
            raise ModelFileError("the model's label_counts must be whole numbers from 0 on")
        model.label_counts_ = counts
        model.label_names_ = read_names(files.documents, "labels", n_labels)
        model.vocabulary_ = kept_vocabulary(files, n_labels)
        model.rows_ = RowMaker.restore(config["weighting"], n_features, files.arrays, files.documents)
        model.method_ = make_method(config["method"], config["params"])
        model.method_.restore(State(arrays_within("method.", files.arrays), config["facts"]), n_features, n_labels)
        model.label_changes_ = LabelChanges.from_facts(config.get("label_changes"), n_labels)
        calibration = config.get("calibration")
        model.calibration_ = None if calibration is None else Calibration.from_facts(calibration)
        model.thresholds_ = Thresholds.from_facts(config.get("thresholds"))
        return model
