"""LightDXML's tables and figures: python -m benchmarks.papers.lightdxml [TABLE...]; `common` has the options."""

from __future__ import annotations

from benchmarks.papers.common import Published, Table, Variant, main

DATA = ("bibtex", "delicious", "debian-tags", "debian-deps", "eurlex57k")
ACCURACY = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5", "nDCG@3", "nDCG@5")

TABLE_2 = Table(
    name="table2",
    title="Table II: accuracy and cost",
    variants=[Variant("LightDXML", "lightdxml:paper"), Variant("LightDXML, best", "lightdxml:best")],
    data=DATA,
    columns=(*ACCURACY, "train_seconds", "train_peak_mb", "model_mb", "batch_ms"),
    published=[
        Published("EURLex-4K", "LightDXML", {"P@1": 82.38, "P@3": 67.94, "P@5": 56.18}),
    ],
)

if __name__ == "__main__":
    main("lightdxml", [TABLE_2], __doc__)
