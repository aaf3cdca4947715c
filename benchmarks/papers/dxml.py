"""DXML's tables and figures: python -m benchmarks.papers.dxml [TABLE...]; `common` has the options."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.papers.common import DATA, Published, Special, Table, Variant, main
from benchmarks.papers.special import Row, fitted, points
from zipfel.methods.dxml import Dxml
from zipfel.metrics import evaluate

PAPER = {
    "bibtex": {
        "DXML": (66.03, 40.21, 27.51, 60.71, 62.03),
        "SLEEC": (65.08, 39.64, 28.87, 60.47, 62.64),
        "KNN": (57.04, 34.38, 25.44, 52.29, 54.64),
        "one-vs-all": (62.62, 39.09, 28.79, 59.13, 61.58),
    },
    "delicious": {
        "DXML": (68.17, 62.02, 57.45, 63.45, 59.89),
        "SLEEC": (67.59, 61.38, 56.56, 62.87, 59.28),
        "KNN": (64.95, 58.89, 54.11, 60.32, 56.77),
        "one-vs-all": (65.02, 58.88, 53.28, 60.43, 56.28),
    },
    "MediaMill": {"DXML": (88.73, 74.05, 58.83, 81.87, 80.03)},
    "Wiki10-31K": {"DXML": (86.45, 70.88, 61.31, 76.32, 67.11)},
    "Delicious-200K": {"DXML": (48.13, 43.85, 39.83, 43.95, 41.73)},
    "Amazon-670K": {"DXML": (37.67, 33.72, 29.86, 33.93, 32.47)},
}
QUALITY = ("P@1", "P@3", "P@5", "nDCG@3", "nDCG@5")
TABLES_2_5 = Table(
    name="accuracy",
    title="Tables 2 to 5: P@k and nDCG@k",
    variants=[
        Variant("DXML", "dxml:paper"),
        Variant("DXML, best", "dxml:best"),
        Variant("SLEEC", "sleec:paper"),
        Variant("KNN", "knn"),
        Variant("one-vs-all", "ova"),
    ],
    data=DATA,
    columns=QUALITY,
    published=[
        Published(data, name, dict(zip(QUALITY, numbers, strict=True)))
        for data, lines in PAPER.items()
        for name, numbers in lines.items()
    ],
)
TABLE_6 = Table(
    name="time",
    title="Table 6: training and prediction, in seconds",
    variants=[Variant("DXML", "dxml:paper"), Variant("SLEEC", "sleec:paper")],
    data=("bibtex", "delicious"),
    columns=("train_seconds", "batch_ms", "model_mb"),
)
FIGURE_2 = Table(
    name="figure2",
    title="Figure 2: with and without the ReLU",
    variants=[Variant("with ReLU", "dxml:paper"), Variant("linear", "dxml:paper[activation=linear]")],
    data=("bibtex", "delicious", "debian-tags"),
    columns=("P@1", "P@3", "P@5"),
)
OPEN = Table(
    name="open",
    title="What the paper leaves open: the graph, its walks, targets, clusters, dropout",
    variants=[
        Variant("the preset paper", "dxml:paper"),
        Variant("edges by 3.2, without counts", "dxml:paper[edges=plain]"),
        Variant("targets of unit length", "dxml:paper[targets=unit]"),
        Variant("window 10", "dxml:paper[window=10]"),
        Variant("walks of 80", "dxml:paper[walk_length=80]"),
        Variant("PPMI-SVD for DeepWalk", "dxml:paper[vectors=ppmi]"),
        Variant("random label vectors", "dxml:paper[vectors=random]"),
        Variant("dropout 0.2", "dxml:paper[dropout=0.2]"),
        Variant("one cluster for all", "dxml:paper[clusters=1]"),
        Variant("8 clusters", "dxml:paper[clusters=8]"),
    ],
    data=("delicious",),
)


def splits(asked: argparse.Namespace, data: str) -> Iterator[Row]:
    """Tables 2 and 4 are means over ten random splits: train and test together, split anew in the same proportion."""
    train, test = points(asked, data)
    whole = train.joined(test)
    for seed in range(1, 11):
        rest, held = whole.split(test.n_points / whole.n_points, np.random.default_rng(seed))
        found = evaluate(fitted(asked, "dxml:paper", rest, seed).predict(held.X, 5), held.Y, ks=(1, 3, 5))
        yield {"split": seed, **{metric: round(100 * found[metric], 2) for metric in QUALITY}}


def incremental(asked: argparse.Namespace, data: str) -> Iterator[Row]:
    """4.2's "incremental learning": half of train is learnt; the rest joins in 10 parts without training."""
    train, test = points(asked, data)
    half, later = train.split(0.5, np.random.default_rng(0))
    parts = [later.take(rows) for rows in np.array_split(np.arange(later.n_points), 10)]
    for seed in range(1, asked.seeds + 1):
        method = fitted(asked, "dxml:paper", half, seed)
        assert isinstance(method, Dxml)
        known = half
        for added in range(11):
            if added:
                known = known.joined(parts[added - 1])
                method.partial_fit(parts[added - 1])
            if added in (0, 1, 5, 10):
                for how, model in (("added", method), ("trained anew", fitted(asked, "dxml:paper", known, seed))):
                    found = evaluate(model.predict(test.X, 5), test.Y, ks=(1, 5))
                    quality = {metric: round(100 * found[metric], 2) for metric in ("P@1", "P@5")}
                    yield {"additions": added, "points": known.n_points, "how": how, "seed": seed, **quality}


def hierarchy(asked: argparse.Namespace, data: str) -> Iterator[Row]:
    """3.2: "if the prior label hierarchy is guaranteed, we directly incorporate it": EuroVoc's broader concepts."""
    train, test = points(asked, data)
    with tempfile.TemporaryDirectory() as folder:
        file = _broader(asked.shared / data, Path(folder) / "hierarchy.tsv")
        for name, change in (("labels that share points", ""), ("EuroVoc's hierarchy", f"hierarchy={file}")):
            for seed in range(1, asked.seeds + 1):
                method = fitted(asked, f"dxml:paper[{change}]", train, seed)
                found = evaluate(method.predict(test.X, 5), test.Y, ks=(1, 3, 5))
                yield {"graph": name, "seed": seed, **{metric: round(100 * found[metric], 2) for metric in QUALITY}}


def _broader(folder: Path, file: Path) -> Path:
    """Parent and child by label id, a pair a line; concepts that are no label keep their names."""
    files = (folder / "vocabulary.jsonl", folder / "labels.txt")
    lines, names = (path.read_text(encoding="utf-8").split("\n") for path in files)
    concepts = {concept["id"]: concept for concept in map(json.loads, filter(None, lines))}
    ids = {name: str(place) for place, name in enumerate(names)}
    pairs = [
        (ids.get(concepts[parent]["label"], parent), ids.get(concept["label"], child))
        for child, concept in concepts.items()
        for parent in concept["broader"]
        if parent in concepts
    ]
    file.write_text("".join(f"{parent}\t{child}\n" for parent, child in pairs), encoding="utf-8")
    return file


SPECIAL = [
    Special("splits", "Tables 2 and 4: ten random splits", ("split", *QUALITY), splits, ("bibtex", "delicious")),
    Special("incremental", "New points without training", ("additions", "points", "how", "seed", "P@1", "P@5"),
            incremental, ("delicious",), "additions", "how", "P@1"),
    Special("hierarchy", "The label graph of a hierarchy (3.2)", ("graph", "seed", *QUALITY), hierarchy,
            ("eurlex57k",)),
]  # fmt: skip

if __name__ == "__main__":
    main("dxml", [TABLES_2_5, TABLE_6, FIGURE_2, OPEN], __doc__, SPECIAL)
