"""What of a fitted estimator goes into its model folder, and an estimator from what was read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy.typing as npt

from zipfel import __version__
from zipfel.calibration import Calibration
from zipfel.data import Dataset
from zipfel.decisions import Thresholds
from zipfel.errors import ModelFileError, ZipfelError
from zipfel.estimator.history import checked_ids
from zipfel.estimator.label_changes import LabelChanges
from zipfel.estimator.rows import RowMaker
from zipfel.estimator.vocabularies import kept_vocabulary
from zipfel.methods import State, make_method
from zipfel.persistence import ModelFiles, arrays_within, check_kept, read_names

Model = TypeVar("Model")
_ELSEWHERE = ("method", "verbose", "encoder")
"""Parameters of the estimator that a model folder has in another place, or does not keep."""
MISFITS = (ZipfelError, LookupError, TypeError, ValueError, AttributeError, RuntimeError, ArithmeticError, MemoryError)
"""What parts of a model folder raise that do not fit together."""


def files_of(model: Any) -> ModelFiles:
    """All that `restored` needs."""
    state = model.method_.state()
    arrays: dict[str, npt.NDArray[Any]] = {f"method.{name}": array for name, array in state.arrays.items()}
    arrays["label_counts"] = model.label_counts_
    arrays.update(model.rows_.arrays())
    if len(model.document_ids_):
        arrays["document_ids"] = model.document_ids_
    documents = model.rows_.documents()
    if model.label_names_ is not None:
        documents["labels"] = model.label_names_
    if model.vocabulary_ is not None:
        documents["vocabulary"] = model.vocabulary_.to_json()
    return ModelFiles(_config(model, state), arrays, documents)


def _config(model: Any, state: State) -> dict[str, Any]:
    return {
        "method": model.method,
        "params": model.method_.config.to_dict(),
        "estimator": {name: getattr(model, name) for name in model._own_names() if name not in _ELSEWHERE},
        "given": dict(model._params),
        "weighting": model.rows_.weighting.kind,
        "n_features": model.n_features_in_,
        "n_labels": model.n_labels_,
        "training": model.training_,
        "metrics": model.metrics_,
        "facts": dict(state.facts),
        "label_changes": model.label_changes_.facts() if model.label_changes_ else None,
        "calibration": None if model.calibration_ is None else model.calibration_.facts(),
        "thresholds": model.thresholds_.facts(),
    }


def restored(made: type[Model], files: ModelFiles) -> Model:
    """An estimator of class `made` with the same answers as the saved one. Raises one of `MISFITS` if the files do not
    fit together."""
    config = files.config
    model: Any = made(config["method"], **{**config["estimator"], **config["given"]})  # type: ignore[call-arg]
    n_features, n_labels = int(config["n_features"]), int(config["n_labels"])
    model.n_features_in_, model.n_labels_ = n_features, n_labels
    model.training_, model.metrics_ = dict(config["training"]), dict(config["metrics"])
    check_kept(model.threads, model.training_["n_points"])
    counts = State(files.arrays).array("label_counts", shape=(n_labels,))
    if counts.dtype.kind != "i" or counts.min(initial=0) < 0:
        raise ModelFileError("the model's label_counts must be whole numbers from 0 on")
    model.label_counts_ = counts
    model.document_ids_ = checked_ids(files.arrays.get("document_ids"))
    model.label_names_ = read_names(files.documents, "labels", n_labels)
    model.vocabulary_ = kept_vocabulary(files, n_labels)
    model.rows_ = RowMaker.restore(config["weighting"], n_features, files.arrays, files.documents)
    model.method_ = make_method(config["method"], config["params"])
    model.method_.restore(State(arrays_within("method.", files.arrays), config["facts"]), n_features, n_labels)
    model.label_changes_ = LabelChanges.from_facts(config.get("label_changes"), n_labels)
    calibration = config.get("calibration")
    model.calibration_ = None if calibration is None else Calibration.from_facts(calibration)
    model.thresholds_ = Thresholds.from_facts(config.get("thresholds"))
    found: Model = model
    return found


def misfit_error(folder: str | Path, config: Mapping[str, Any], error: BaseException) -> ModelFileError:
    """For a model of which all checksums match, but not its parts: another version of zipfel has saved it, or a program
    has altered it."""
    by = str(config.get("library_version"))[:40]
    who = f"another development version of zipfel {by}" if by == __version__ else f"zipfel {by}"
    return ModelFileError(
        f"{folder} does not fit this zipfel {__version__}: it was saved by {who}, or altered by another program; "
        f"fit it again ({error})"
    )


def signature_of(
    given: Mapping[str, Any], params: Mapping[str, Any], train: Dataset, valid: Dataset | None
) -> dict[str, str]:
    """What a stopped training must have in common with the one that goes on from it: method, parameters, data, labels.

    Threads and a time budget may differ.
    """
    own = {name: repr(value) for name, value in given.items() if name not in ("threads", "time_budget", "encoder")}
    return {
        "method": str(given.get("method")),
        "parameters": _hashed(own, params),
        "training data": train.fingerprint(),
        "validation data": "" if valid is None else valid.fingerprint(),
        "label names": _hashed(list(train.label_names or ())),
    }


def _hashed(*values: Any) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True, default=repr).encode()).hexdigest()
