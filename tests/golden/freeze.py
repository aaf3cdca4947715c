"""Writes golden.json beside this file: P@k and PSP@k of small fits of every method and preset.

python -m tests.golden.freeze [METHOD ...]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import zipfel
from zipfel import datasets
from zipfel.methods.registry import method_class, method_names

FILE = Path(__file__).with_name("golden.json")
ROWS, TEST_ROWS = 800, 400
METRICS = ("P@1", "P@3", "P@5", "PSP@1", "PSP@5")
PAPERS = {"lightdxml", "mnn", "glas", "dxml", "rankae", "sleec", "astec"}


def scores(method: str, preset: str | None) -> dict[str, float]:
    """Of a model that has seen 800 package descriptions."""
    train, test = datasets.load("debian-tags")
    model = zipfel.Zipfel(method, preset=preset, seed=1, threads=1).fit(train.take(range(ROWS)))
    found = model.evaluate(test.take(range(TEST_ROWS)))
    return {name: round(found[name], 4) for name in METRICS}


def cases() -> list[tuple[str, str | None]]:
    """Papers' methods are trained longer than a test may: their presets have tests of their own."""
    found: list[tuple[str, str | None]] = []
    for name in method_names():
        presets = [] if name in PAPERS else [p for p in method_class(name).presets if p != "thorough"]
        found += [(name, preset) for preset in (None, *presets) if name not in PAPERS]
    return found


if __name__ == "__main__":
    kept = json.loads(FILE.read_text()) if FILE.exists() else {}
    for name, preset in cases():
        if len(sys.argv) == 1 or name in sys.argv[1:]:
            kept[f"{name} {preset or ''}".strip()] = scores(name, preset)
    FILE.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
