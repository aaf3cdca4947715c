"""The model that a worker process has loaded: whichever engine asks, it is loaded once and not for each partition."""

from __future__ import annotations

import threading
from pathlib import Path

from zipfel.classifier import Zipfel
from zipfel.estimator.saving import CONFIG

_lock = threading.Lock()
_models: dict[tuple[str, int], Zipfel] = {}
"""One model, by its folder and the time of its config."""


def loaded_model(folder: str | Path) -> Zipfel:
    """The model of a folder; a process keeps the last one that was asked for, and loads a newer version by itself.

    It has the threads of its caller: `use_threads(1)` where an engine gives each task one core.
    """
    path = Path(folder).resolve()
    with _lock:
        key = str(path), (path / CONFIG).stat().st_mtime_ns if (path / CONFIG).exists() else 0
        if key not in _models:
            model = Zipfel.load(path)
            model.threads = None
            _models.clear()
            _models[key] = model
        return _models[key]
