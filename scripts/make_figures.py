"""Makes the figures of the docs: `python scripts/make_figures.py`."""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("svg")
import matplotlib.pyplot as plt
from flow import Flow, draw_flow

from zipfel import Zipfel, datasets
from zipfel.data import BUCKETS
from zipfel.report.figures import Bars, alone, bar_chart, reliability_diagram

ROOT = Path(__file__).resolve().parents[1]
FIGURES = ROOT / "docs" / "figures"
PEERS = ROOT / "benchmarks" / "results" / "peers.jsonl"
plt.rcParams.update({"svg.hashsalt": "zipfel", "font.size": 10, "axes.spines.top": False, "axes.spines.right": False})


DESIGN = Flow(
    [
        [("given", "text")],
        [("given", "row of features\nrows.py")],
        [("given", "Asked\nevidence/part.py")],
        [("given", "candidates\nevidence/\ncandidates.py")],
        [("learnt", "opinions of parts\nevidence/parts/")],
        [("loss", "judge\nevidence/judge.py")],
        [("answer", "probability\ncalibration.py")],
    ],
    [""] * 7,
)
AUTO = Flow(
    [
        [("given", "document")],
        [("given", "sparse row of\nTF-IDF features")],
        [("learnt", "neighbours by words"), ("learnt", "neighbours by codes"), ("learnt", "label names, networks")],
        [("given", "100 candidates")],
        [
            ("learnt", "votes of neighbours"),
            ("learnt", "a classifier a label"),
            ("learnt", "regression, label tree,\nforest, network"),
            ("learnt", "label frequency"),
        ],
        [("loss", "judge: one score\na label")],
        [("loss", "bonus for rare\nlabels; calibration")],
        [("answer", "labels, best first,\nwith probabilities")],
    ],
    ["", "", "search", "", "evidence", "learnt on\nheld-out documents", "learnt on\nheld-out documents", ""],
)


def save(name: str) -> None:
    plt.tight_layout()
    plt.savefig(FIGURES / f"{name}.svg", metadata={"Date": None})
    plt.close()


def zipf() -> None:
    train, _ = datasets.load("debian-tags")
    counts = np.sort(train.label_counts())[::-1]
    counts = counts[counts > 0]
    plt.figure(figsize=(6, 3.2))
    plt.loglog(np.arange(1, len(counts) + 1), counts)
    for y, name in ((100, "head above"), (5, "tail from here down")):
        plt.axhline(y, color="grey", linewidth=0.8, linestyle="--")
        plt.text(1, y * 1.1, name, fontsize=8)
    plt.xlabel("rank of the label")
    plt.ylabel("training documents")
    save("zipf")


SYSTEMS = ("zipfel", "zipfel quick", "omikuji Parabel", "omikuji Bonsai", "PECOS XR-Linear", "napkinXC PLT",
           "scikit-learn one-vs-rest")  # fmt: skip
MARKS = "oosD^vP"
COLOURS = ("#1f6feb", "#7fb0ff", "#e36209", "#f5a65b", "#2da44e", "#8250df", "#6e7781")


def accuracy_and_time() -> None:
    """P@1 against training seconds of every system, a panel a data set."""
    rows = [json.loads(line) for line in PEERS.read_text(encoding="utf-8").splitlines()]
    names = list(dict.fromkeys(row["data"] for row in rows))
    figure, axes = plt.subplots(1, len(names), figsize=(2.3 * len(names), 2.9))
    for axis, name in zip(np.atleast_1d(axes), names, strict=True):
        for system, mark, colour in zip(SYSTEMS, MARKS, COLOURS, strict=True):
            found = [row for row in rows if row["data"] == name and row["system"] == system]
            for row in found:
                axis.scatter(row["train_s"], row["P@1"], s=55, color=colour, marker=mark, label=system)
        axis.set(xscale="log", title=name, xlabel="training, seconds")
        low, high = axis.get_xlim()
        ticks = [t for t in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100) if low <= t <= high]
        axis.set_xticks(ticks, [f"{t:g}" for t in ticks])
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    np.atleast_1d(axes)[0].set_ylabel("P@1, per cent")
    marks = {label: mark for axis in axes for mark, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    figure.legend(
        [marks[s] for s in SYSTEMS], SYSTEMS, loc="lower center", ncols=len(SYSTEMS), fontsize=8, frameon=False
    )
    plt.tight_layout(rect=(0, 0.08, 1, 1))
    plt.savefig(FIGURES / "accuracy-and-time.svg", metadata={"Date": None})
    plt.close()


def of_a_model() -> None:
    """Calibration, and recall by label frequency, of a quick model of the bundled data."""
    train, test = datasets.load("debian-tags")
    model = Zipfel(preset="quick").fit(train)
    found = model.reliability(test, k=5)
    assert found is not None
    diagram = reliability_diagram(found.probability, found.share, found.size, "Reliability diagram")
    (FIGURES / "reliability.svg").write_text(alone(diagram), encoding="utf-8")
    scores = model.evaluate(test)
    recalls = [100 * scores[f"R@5[{bucket}]"] for bucket in BUCKETS]
    chart = bar_chart(Bars(BUCKETS, [("R@5", recalls)]), "Recall of the first five labels by label frequency")
    (FIGURES / "recall-by-frequency.svg").write_text(alone(chart), encoding="utf-8")


if __name__ == "__main__":
    FIGURES.mkdir(parents=True, exist_ok=True)
    draw_flow(AUTO, FIGURES / "how-auto-works.svg")
    draw_flow(DESIGN, FIGURES / "design.svg")
    zipf()
    of_a_model()
    if PEERS.exists():
        accuracy_and_time()
