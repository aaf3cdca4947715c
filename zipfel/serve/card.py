"""A model in words and numbers: the facts that clients ask for, and the card that the page shows."""

from __future__ import annotations

from typing import Any

from zipfel.persistence import folder_size
from zipfel.serve.served import RELIABILITY, ServedModel


def model_facts(served: ServedModel) -> dict[str, Any]:
    snapshot = served.snapshot
    model = snapshot.model
    return {
        "name": served.name,
        "method": model.method,
        "n_labels": model.n_labels_,
        "n_documents": model.training_["n_points"],
        "input": "text" if snapshot.takes_texts else "rows",
        "languages": snapshot.labels.languages,
        "explains": hasattr(model.method_, "explain"),
        "learns": hasattr(model.method_, "partial_fit"),
        "version": snapshot.version,
        "examples": list(served.examples),
    }


def model_card(served: ServedModel) -> dict[str, Any]:
    """The model's facts, parameters, training data, parts, metrics by bucket and reliability diagram.

    measured_documents: how many documents the model had learned when its metrics were measured.
    """
    model, measured = served.snapshot.model, served.measured
    return model_facts(served) | {
        "preset": model.preset,
        "n_features": model.n_features_in_,
        "parameters": model.method_.config.to_dict(),
        "training": {name: value for name, value in model.training_.items() if name != RELIABILITY},
        "metrics": dict(measured.get("metrics", {})),
        "reliability": measured.get(RELIABILITY),
        "measured_documents": measured.get("n_documents", 0),
        "parts": list(served.parts),
        "bytes": _bytes(served),
    }


def _bytes(served: ServedModel) -> int | None:
    try:
        return folder_size(served.folder)
    except OSError:
        return None
