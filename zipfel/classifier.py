"""`Zipfel`, the estimator users import: fit, predict, evaluate, save, load, by scikit-learn's conventions."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from zipfel.data import Dataset, Vocabulary
from zipfel.data.remarks import remarks_on, warn
from zipfel.errors import ParameterError
from zipfel.estimator.conventions import Conventions, refuse_other_names
from zipfel.estimator.deciding import Deciding
from zipfel.estimator.encoding import embedded, path_of, training_vectors
from zipfel.estimator.explaining import label_id, named, one_row
from zipfel.estimator.frames import Names
from zipfel.estimator.history import NO_IDS, event, known_after, remembered
from zipfel.estimator.inputs import (
    as_dataset,
    check_trainable,
    documents_of,
    validation_dataset,
    with_columns,
    with_embeddings,
)
from zipfel.estimator.label_changes import NO_CHANGES
from zipfel.estimator.probabilities import fit_calibrated, with_probabilities
from zipfel.estimator.rows import RowMaker
from zipfel.estimator.saved_state import MISFITS, files_of, misfit_error, restored, signature_of
from zipfel.estimator.updating import Updating
from zipfel.estimator.vocabularies import AnyVocabulary, as_vocabulary, in_label_order, label_texts, with_vocabulary
from zipfel.explanation import Explained
from zipfel.methods import Method, Points, make_method
from zipfel.metrics import Propensity
from zipfel.persistence import load_model, save_model
from zipfel.points import Sources
from zipfel.ranking import Ranking
from zipfel.run import Run
from zipfel.system.interrupts import holding_signals
from zipfel.system.log import LOGGER, shown
from zipfel.system.memory import check_memory
from zipfel.system.threads import use_threads

Self = TypeVar("Self", bound="Zipfel")
_RUN = 1 << 14
"""Documents of a data set that are ranked together."""


class Zipfel(Deciding, Updating, Conventions):
    """Tags documents with the right few of many labels.

    >>> texts = ["a red bike", "a blue boat", "a red boat", "oil for a bike"] * 5
    >>> labels = [["bike"], ["boat"], ["boat"], ["bike", "oil"]] * 5
    >>> model = Zipfel(preset="quick").fit(texts, labels)
    >>> model.predict(["my red bike"], k=1).names
    [['bike']]
    >>> model.evaluate(texts, labels)["P@1"]
    1.0

    Other things to do with a fitted model: `explain` a document, accept labels by a threshold with `predict_sets`, add
    documents with `partial_fit`, `save` it and `Zipfel.load` it again.

    Parameters:

    method: which method learns; `zipfel methods` lists them.
    preset: a named set of the method's parameters, e.g. "quick" or "thorough".
    weighting: of ready-made sparse features: "none", "l2", "tfidf", or "auto" (chosen on a split of the training set).
    vectorizer: parameters of the text features, e.g. {"ngrams": 2}.
    valid_share: share of the training set that is held out for the method's choices. None: the method decides.
    propensity: constants of PSP and PSnDCG: "A,B", or the name of a data set of the Extreme Classification Repository.
    seed: start of all random numbers. Same seed, threads and data give the same model.
    threads: cores for fitting and predicting. None: all.
    time_budget: seconds that `fit` may take. None: no limit.
    device: where networks train: "cpu", "cuda" or "mps".
    encoder: what makes embeddings of texts and label names: a function of a list of texts, an object with `encode`, or
        the import path of one, "package.module:name". A saved model does not bring it along: set `model.encoder` again.
    verbose: what `fit` logs on standard error: 0 nothing, 1 phases with their seconds and choices, 2 everything. The
        logger "zipfel" and the environment variable ZIPFEL_LOG have the same.
    params: the method's own parameters, e.g. n_neighbors=50; `zipfel methods NAME` lists them.

    Arguments of several calls:

    X: documents: a list of texts, a numpy array, a scipy sparse matrix, a DataFrame or a `Dataset`.
    y: labels of each document: lists of names, lists of ids, or a 0/1 matrix. A `Dataset` brings its own.
    text, labels: columns of X, if X is a DataFrame.
    label_names: names of the columns, if y is a matrix or has ids.
    k, ks: labels of each document that are predicted or counted.
    threshold: a probability, "auto" or "auto:document"; see `predict_sets`.
    embeddings: an array with a row a document, instead of an encoder; a row of zeros: the document has none.
    """

    def __init__(
        self,
        method: str = "auto",
        *,
        preset: str | None = None,
        weighting: str = "auto",
        vectorizer: Mapping[str, Any] | None = None,
        valid_share: float | None = None,
        propensity: str | None = None,
        seed: int = 0,
        threads: int | None = None,
        time_budget: float | None = None,
        device: str = "cpu",
        encoder: Any = None,
        verbose: int = 0,
        **params: Any,
    ) -> None:
        self._join_scikit_learn()
        refuse_other_names(params, set())
        self.method = method
        self.preset = preset
        self.weighting = weighting
        self.vectorizer = vectorizer
        self.valid_share = valid_share
        self.propensity = propensity
        self.seed = seed
        self.threads = threads
        self.time_budget = time_budget
        self.device = device
        self.encoder = encoder
        self.verbose = verbose
        self._params = params

    vocabulary_: Vocabulary | None
    label_names_: list[str] | None

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
        embeddings: Any = None,
        label_embeddings: Any = None,
        run: Run | None = None,
    ) -> Self:
        """Learns from documents X with labels y, or from a Dataset.

        valid: documents for the method's choices, as (X, y) or a Dataset. None: a part of the training set is held out.
        vocabulary: concepts, or their file. Labels are identifiers or unique names of concepts, and every concept can
        be predicted.
        unknown_labels: "skip" labels that are no concept, or "refuse" them.
        label_embeddings: a row a label name, in the order of the vocabulary or else of the label names.
        run: seed, threads, limits and progress for programs that control a fit. None: those of the estimator.

        >>> model = Zipfel("knn").fit(["a red bike", "a blue boat"], [["bike"], ["boat"]])
        >>> model.n_labels_
        2
        """
        train = with_embeddings(as_dataset(X, y, label_names=label_names, text=text, labels=labels), embeddings)
        weigh = Propensity.of(train.name or "") if self.propensity is None else Propensity.parse(self.propensity)
        if self.valid_share is not None and not 0 < self.valid_share < 1:
            raise ParameterError(f"valid_share must lie between 0 and 1, got {self.valid_share!r}")
        run = run or Run(seed=self.seed, time_budget=self.time_budget, device=self.device)
        if self.threads is not None:
            run.threads = self.threads
            run.check()
        run.propensity = weigh.A, weigh.B
        fresh = self._as_it_is()
        fresh.vocabulary_ = None
        if vocabulary is not None:
            concepts = as_vocabulary(vocabulary)
            train, fresh.vocabulary_ = with_vocabulary(train, concepts, unknown_labels)
            label_embeddings = in_label_order(label_embeddings, concepts, fresh.vocabulary_)
        check_trainable(train)
        warn(remarks_on(train))
        with shown(self.verbose), use_threads(run.threads):
            held = None if valid is None else validation_dataset(valid, text=text, labels=labels)
            fresh._fit(train, held, label_embeddings, run)
        fresh.training_["propensity"] = [weigh.A, weigh.B]
        return self._become(fresh)

    def _fit(self, train: Dataset, valid: Dataset | None, label_embeddings: Any, run: Run) -> None:
        start = time.monotonic()
        method = make_method(self.method, self._params, self.preset)
        LOGGER.info("fitting %s to %d documents with %d labels", self.method, train.n_points, train.n_labels)
        LOGGER.debug("parameters: %s", method.config.to_dict())
        self.label_names_ = list(train.label_names) if train.label_names is not None else None
        self.n_labels_ = train.n_labels
        self.label_counts_ = train.label_counts()
        self.rows_ = RowMaker()
        rows = self.rows_.fit_transform(train, run, weighting=self.weighting, vectorizer=self.vectorizer)
        self.n_features_in_ = self.rows_.n_features
        run.feature_names, run.label_names = self.rows_.feature_names, self.label_names_
        run.label_texts = label_texts(self.label_names_, self.vocabulary_)
        if run.checkpoint is not None:
            run.signature = signature_of(self.get_params(), method.config.to_dict(), train, valid)
        vectors = training_vectors(self.encoder, method, train, label_embeddings, run)
        points = self._points(method, rows, train.Y, Sources(train.texts, vectors))
        held = None
        if valid is not None:
            held_rows, sources = self.rows_.read(valid)
            sources = embedded(sources, len(valid), None if vectors is None else vectors.shape[1], self.encoder)
            held = self._points(method, held_rows, with_columns(self._truth(valid), train.n_labels), sources)
        if held is None and self.valid_share is not None:
            points, held = points.split(self.valid_share, run.rng(0))
        check_memory(method.bytes_needed(points), f"method {self.method}", "take fewer documents or shorter ones")
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
            "curves": dict(run.curves),
        }
        if method.vector_dim is not None and self.encoder is not None:
            self.training_["encoder"] = path_of(self.encoder)
        new = event("fit", train.name, documents=train.n_points)
        self.training_ = remembered(self.training_, new)
        self.document_ids_ = known_after(NO_IDS, train) if hasattr(method, "partial_fit") else NO_IDS
        self.metrics_: dict[str, float] = {}
        self.label_changes_ = NO_CHANGES

    def _points(self, method: Method, rows: sp.csr_matrix, Y: sp.csr_matrix, sources: Sources) -> Points:
        """With their texts and embeddings if the method reads them; texts only if rows were made of texts."""
        if not method.reads_sources:
            return Points(rows, Y)
        return Points(rows, Y, sources.texts if self.rows_.vectorizer is not None else None, sources.vectors)

    # -- answering -------------------------------------------------------------------------------------------------

    @holding_signals
    def predict(self, X: Any, k: int = 5, *, text: Names = None, embeddings: Any = None) -> Ranking:
        """The k best labels of each document, best first, with their probabilities.

        A ranking has at most as many columns as there are labels. A bonus for rare labels changes the order and not the
        probabilities, so probabilities may rise within a row.

        >>> model = Zipfel("knn").fit(["a red bike", "a blue boat"], [["bike"], ["boat"]])
        >>> [label for label, probability in model.predict(["red"], k=2)[0]]
        ['bike']
        """
        now = self._fitted()
        if not isinstance(k, int | np.integer) or k < 1:
            raise ParameterError(f"k must be at least 1, got {k!r}")
        found = now._ranked(documents_of(X, text, embeddings), min(k, now.n_labels_))
        return found.with_names(now.label_names_)

    def _ranked(self, documents: Any, k: int) -> Ranking:
        """A data set in runs of rows, so that packed data are never in memory as a whole."""
        runs: Iterable[Any] = [documents]
        if isinstance(documents, Dataset) and len(documents) > _RUN:
            runs = documents.runs(_RUN)
        parts = []
        for run in runs:
            rows, sources = self._read(run)
            with use_threads(self.threads):
                parts.append(self._ranking(rows, k, sources))
        return parts[0] if len(parts) == 1 else Ranking.concatenate(parts)

    def _read(self, documents: Any) -> tuple[sp.csr_matrix, Sources]:
        """Rows, texts and the embeddings that the method reads; the encoder makes those that were not given."""
        rows, sources = self.rows_.read(documents)
        dim, known = self.method_.vector_dim, self.training_.get("encoder")
        return rows, embedded(sources, rows.shape[0], dim, self.encoder, known)

    def vectors_of(self, X: Any) -> Any:
        """The embeddings that the model reads of documents X, given or made by `encoder`; None if it reads none.

        >>> Zipfel("knn").fit(["a red bike", "a blue boat"], [["bike"], ["boat"]]).vectors_of(["a bike"]) is None
        True
        """
        return self._fitted()._read(X)[1].vectors

    def _ranking(self, rows: sp.csr_matrix, k: int, sources: Sources) -> Ranking:
        def rank(k: int) -> Ranking:
            found = self.method_.ranked(rows, k, sources)
            return with_probabilities(self.method_, found, self.calibration_, self.label_counts_)

        return self.label_changes_.ranked(rank, k, self.n_labels_)

    def predict_scores(self, X: Any, k: int = 100) -> sp.csr_matrix:
        """The scores of the k best labels of each document, as a sparse matrix (n, n_labels).

        >>> model = Zipfel("knn").fit(["a red bike", "a blue boat"], [["bike"], ["boat"]])
        >>> model.predict_scores(["a red bike"]).shape
        (1, 2)
        """
        now = self._fitted()
        return now.predict(X, min(k, now.n_labels_)).to_csr(now.n_labels_)

    @holding_signals
    def explain(
        self, document: Any, labels: Sequence[str | int] | None = None, k: int = 5, *, embeddings: Any = None
    ) -> Explained:
        """Why one document gets its k best labels, or why it would get the given ones.

        document: a text or a row of features. labels: names or ids of the labels to explain. None: the k best.
        The scores are what labels are ranked by. The evidence sums to them. They are no probabilities.

        >>> model = Zipfel("knn").fit(["a red bike", "a blue boat"], [["bike"], ["boat"]])
        >>> why = model.explain("my red bike", k=1)
        >>> sorted(word for word, added in why.top("bike", 2))
        ['bike', 'red']
        """
        now = self._fitted()
        names = now.label_names_ or [str(i) for i in range(now.n_labels_)]
        asked = None if labels is None else [label_id(label, names) for label in labels]
        documents = [document] if isinstance(document, str) else document
        row, sources = one_row(now._read(documents_of(documents, embeddings=embeddings)))
        with use_threads(now.threads):
            ranking = now.label_changes_.ranked(lambda k: now.method_.ranked(row, k, sources), k, now.n_labels_)
            best = {
                int(i): float(score) for i, score in zip(ranking.labels[0], ranking.scores[0], strict=True) if i >= 0
            }
            explain = now._able("explain")
            own = {"sources": sources} if now.method_.reads_sources else {}
            found = explain(row, list(best) if asked is None else asked, **own)
        return named(found, best, names, now.rows_, document)

    # -- keeping ---------------------------------------------------------------------------------------------------

    def save(self, folder: str | Path, *, force: bool = False) -> None:
        """Writes the model folder. An older model in its place is replaced in one step when the new one is complete.

        folder: where to; it is made. force: replace a folder that holds something else than a model.

        >>> import tempfile
        >>> model = Zipfel("knn").fit(["a red bike", "a blue boat"], [["bike"], ["boat"]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(f"{folder}/model")
        ...     same = Zipfel.load(f"{folder}/model")
        >>> same.predict(["a boat"], k=1).names
        [['boat']]
        """
        save_model(folder, files_of(self._fitted()), force)

    @classmethod
    @holding_signals
    def load(cls: type[Self], folder: str | Path, *, verify: bool | None = None) -> Self:
        """Reads the model in a folder; `ModelFileError` says what is wrong with it.
        verify: compare the checksum of the arrays; by default of up to 256 MB. Larger ones are mapped into memory.

        >>> Zipfel.load("no/such/folder")
        Traceback (most recent call last):
        ...
        zipfel.errors.ModelFileError: ...
        """
        files = load_model(folder, verify)
        try:
            return restored(cls, files)
        except MISFITS as error:
            raise misfit_error(folder, files.config, error) from error
