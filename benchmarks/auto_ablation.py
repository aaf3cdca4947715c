"""What each part of `auto` adds: python -m benchmarks.auto_ablation [--data debian-tags ...] [--seeds 1]

Every variant is the default with one thing changed, in its own process; the table of docs/methods/auto.md.
"""

from __future__ import annotations

from benchmarks.ablation import arguments, run, show

VARIANTS = {
    "auto": "auto",
    "one encoder": "auto[matcher.encoders=1]",
    "without single labels in the encoder's loss": "auto[matcher.labels=0]",
    "without classifiers": "auto[classifiers=false]",
    "votes for the shortlist only": "auto[votes=false]",
    "without label frequencies": "auto[prior=false]",
    "without strangers": "auto[strangers=0]",
    "no bonus for rare labels": "auto[tail=0]",
    "classifiers alone, behind centroids": "ova",
    "preset quick": "auto:quick",
}
DATA = ("bibtex", "delicious", "debian-tags", "debian-deps", "eurlex57k")


def main() -> None:
    show(run(arguments(__doc__ or "", DATA), VARIANTS), VARIANTS)


if __name__ == "__main__":
    main()
