"""What each part of `auto` adds: python -m benchmarks.auto_ablation [--data debian-tags ...] [--seeds 1]

Every variant is the default with one thing changed, in its own process; the table of docs/how-auto-works.md.
"""

from __future__ import annotations

from benchmarks.ablation import arguments, run, show
from zipfel.bench.table import Column

VARIANTS = {
    "auto": "auto",
    "all parts stay": "auto[keep_all=true]",
    "without the regression, and so without the tree": "auto[without=regression]",
    "without the label tree": "auto[without=tree]",
    "without label sets": "auto[without=label_sets]",
    "without the forest": "auto[without=forest]",
    "without joint neighbours": "auto[without=joint]",
    "without the network": "auto[without=network]",
    "without classifiers": "auto[without=classifiers]",
    "without label frequencies": "auto[without=frequency]",
    "without products of evidence": "auto[products=false]",
    "without what likely labels tell of each other": "auto[context=false]",
    "no bonus for rare labels": "auto[tail=0]",
    "classifiers' cost 0.3": "auto[classifiers.cost=0.3]",
    "without random negatives": "auto[classifiers.random_negatives=0]",
    "feature values as they are": "auto[damping=1]",
    "preset quick": "auto:quick",
    "preset thorough": "auto:thorough",
    "classifiers alone": "ova",
}
COLUMNS = tuple(Column(name, name) for name in ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5"))
DATA = ("bibtex", "delicious", "debian-tags", "debian-deps", "eurlex57k")


def main() -> None:
    show(run(arguments(__doc__ or "", DATA), VARIANTS), VARIANTS, COLUMNS)


if __name__ == "__main__":
    main()
