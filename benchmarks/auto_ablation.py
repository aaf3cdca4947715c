"""What each part of `auto` adds: python -m benchmarks.auto_ablation [--data debian-tags ...] [--seeds 1]

Every variant is the default with one thing changed, in its own process; the table of docs/how-auto-works.md.
"""

from __future__ import annotations

from benchmarks.ablation import arguments, run, show
from zipfel.bench.table import Column

VARIANTS = {
    "auto": "auto",
    "without the forest": "auto[forest=false]",
    "without pairs of words": "auto[conjunctions=false]",
    "without the network": "auto[network=false]",
    "classifiers do not change along the file": "auto[drift=false]",
    "neighbours are not heard together": "auto[neighbourhood=false]",
    "kinds of evidence say nothing together": "auto[products=false]",
    "without the label tree": "auto[tree=false]",
    "documents and label sets have no space of their own": "auto[pairs=false]",
    "without codes, and so without tree and pairs": "auto[codes=false]",
    "preset quick: without all of these, with 50 neighbours": "auto:quick",
    "the classifiers' cost as most such documents want it, not tried": "auto[trials=false]",
    "codes of a matcher, whatever the number of labels": "auto[regression.most_labels=0]",
    "the same without single labels in the matcher's loss": "auto[regression.most_labels=0;matcher.labels=0]",
    "without classifiers": "auto[classifiers=false]",
    "votes for the shortlist only": "auto[votes=false]",
    "without label frequencies": "auto[prior=false]",
    "likely labels do not speak of each other": "auto[context=false]",
    "cost 0.3": "auto[ranker.cost=0.3]",
    "without strangers": "auto[strangers=0]",
    "values as they are": "auto[damping=1]",
    "no bonus for rare labels": "auto[tail=0]",
    "classifiers alone, behind centroids": "ova",
}
COLUMNS = tuple(Column(name, name) for name in ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5"))
DATA = ("bibtex", "delicious", "debian-tags", "debian-deps", "eurlex57k")


def main() -> None:
    show(run(arguments(__doc__ or "", DATA), VARIANTS), VARIANTS, COLUMNS)


if __name__ == "__main__":
    main()
