"""The twenty lines that `zipfel info` prints about a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from zipfel.system.phases import in_words

_COUNTED = ("documents", "new_labels", "left_out", "labels")
_PHASES, _EVENTS = 4, 5
"""Phases, the longest first, and events, the last ones, that are shown."""


def summary(folder: Path, config: Mapping[str, Any]) -> dict[str, str]:
    """What there is to say, by a word; what a model lacks is left out."""
    training, estimator = config["training"], config["estimator"]
    told = {
        "model": f"{folder} ({config['bytes'] / 1e6:,.1f} MB, checksums hold)",
        "method": config["method"] + (f", preset {estimator['preset']}" if estimator.get("preset") else ""),
        "set": ", ".join(f"{name}={value}" for name, value in config["given"].items()),
        "labels": _labels(config),
        "features": f"{config['n_features']:,} {_features(config)}",
        "trained on": f"{training['n_points']:,} documents of {training['data'] or 'data without a name'}",
        "took": _took(training),
        "parts": _parts(config, kept=True),
        "dropped": _parts(config, kept=False),
        "seed, threads": f"{training['seed']}, {training['threads']}",
        **_metrics(config.get("metrics") or {}),
        **_history(training.get("history") or ()),
        "written by": f"zipfel {config['library_version']}, model format {config['format_version']}",
        "more": f"zipfel info {folder} --all",
    }
    return {name: text for name, text in told.items() if text}


def _labels(config: Mapping[str, Any]) -> str:
    changes = config.get("label_changes") or {}
    changed = [f"{len(changes[what]):,} {what}" for what in ("retired", "merged") if changes.get(what)]
    named = ", with a vocabulary" if "vocabulary.json" in config["files"] else ""
    return f"{config['n_labels']:,}{named}" + (f"; {', '.join(changed)}" if changed else "")


def _features(config: Mapping[str, Any]) -> str:
    if "vectorizer.json" in config["files"]:
        return "words"
    return f"numbers, weighted by {config['weighting']}" if config["weighting"] != "none" else "numbers"


def _took(training: Mapping[str, Any]) -> str:
    phases: dict[str, float] = {}
    for name, seconds in (training.get("timings") or {}).items():
        phases[in_words(name)] = phases.get(in_words(name), 0.0) + seconds
    longest = sorted(phases.items(), key=lambda pair: -pair[1])[:_PHASES]
    named = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in longest if seconds >= 0.05)
    return f"{training['seconds']:,.1f} s" + (f": {named}" if named else "")


def _parts(config: Mapping[str, Any], *, kept: bool) -> str:
    """auto's parts that were tried, with what each gains on held-out documents, in points of P."""
    plan = (config.get("facts") or {}).get("plan") or ()
    tried = [part for part in plan if part["tried"] and part["kept"] == kept]
    named = [f"{p['part']}" + ("" if p["gain"] is None else f" {100 * p['gain']:+.2f}") for p in tried]
    return ", ".join(named)


def _metrics(metrics: Mapping[str, float]) -> dict[str, str]:
    """The usual ones, a line each."""
    lines = {}
    for name in ("P", "nDCG", "PSP", "ECE"):
        at = {k: metrics[f"{name}@{k}"] for k in (1, 3, 5) if f"{name}@{k}" in metrics}
        if at:
            shown = ", ".join(f"{100 * value:.2f}" for value in at.values())
            lines[f"{name}@{','.join(map(str, at))}"] = f"{shown} % on test"
    return lines


def _history(events: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The last events, a line each."""
    shown = {"earlier": f"{len(events) - _EVENTS:,} events"} if len(events) > _EVENTS else {}
    for event in events[-_EVENTS:]:
        counted = ", ".join(f"{event[name]:,} {name.replace('_', ' ')}" for name in _COUNTED if event.get(name))
        source = f" from {event['data']}" if event.get("data") else ""
        shown[str(event["date"])[:19].replace("T", " ")] = f"{event['what']}: {counted or 'nothing'}{source}"
    return shown
