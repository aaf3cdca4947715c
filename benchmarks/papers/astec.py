"""Astec's ablations: python -m benchmarks.papers.astec [TABLE...]; benchmarks.papers.lightdxml has the comparison."""

from __future__ import annotations

from benchmarks.papers.common import DATA, Table, Variant, main

COLUMNS = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5", "batch_ms")

RERANKER = Table(
    name="reranker",
    title="With and without the re-ranker",
    variants=[
        Variant("Astec", "astec:paper", after={}),
        Variant("without the re-ranker", "astec:paper", after={"gamma_": 0.0}),
        Variant("the re-ranker alone", "astec:paper", after={"gamma_": 1.0}),
        Variant("classifiers alone", "astec:paper", after={"gamma_": 0.0, "beta_": 1.0}),
        Variant("centroids alone", "astec:paper", after={"gamma_": 0.0, "beta_": 0.0}),
    ],
    data=DATA,
    columns=COLUMNS,
)

MODULES = Table(
    name="modules",
    title="The surrogate task, the shortlist and the bound of R",
    variants=[
        Variant("Astec", "astec:paper", after={}),
        Variant("a cluster for every eight labels", "astec:paper[clusters=2000]", after={}),
        Variant("centroids searched, points not", "astec:paper[neighbors=0]", after={}),
        Variant("no labels at random", "astec:paper[drawn=0]", after={}),
        Variant("R without a bound", "astec:paper[bound=1000]", after={}),
    ],
    data=("debian-deps",),
    columns=(*COLUMNS, "module 1", "module 2", "modules 3, 4", "re-ranker"),
)

if __name__ == "__main__":
    main("astec", [RERANKER, MODULES], __doc__)
