"""SLEEC beside what papers print for it: python -m benchmarks.papers.sleec; `common` has the options."""

from __future__ import annotations

from benchmarks.papers.common import Published, Table, Variant, main

ACCURACY = Table(
    name="accuracy",
    title="SLEEC",
    variants=[
        *(Variant(f"SLEEC, {n} learners", f"sleec:paper[learners={n}]") for n in (1, 3, 10)),
        Variant("15 near label sets", "sleec:paper[near=15]"),
        Variant("lambda 0.1", "sleec:paper[ridge=0.1]"),
        Variant("lambda 1", "sleec:paper[ridge=1]"),
    ],
    data=("bibtex", "delicious"),
    published=[
        Published("bibtex", "SLEEC", {"P@1": 65.08, "P@3": 39.64, "P@5": 28.87, "nDCG@3": 60.47, "nDCG@5": 62.64}),
        Published("delicious", "SLEEC", {"P@1": 67.59, "P@3": 61.38, "P@5": 56.56, "nDCG@3": 62.87, "nDCG@5": 59.28}),
        Published("Eurlex", "SLEEC", {"P@1": 79.26, "P@3": 64.30, "P@5": 52.33, "nDCG@3": 68.13, "nDCG@5": 61.60}),
    ],
)

if __name__ == "__main__":
    main("sleec", [ACCURACY], __doc__)
