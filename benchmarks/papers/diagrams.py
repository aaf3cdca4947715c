"""The papers' ideas as boxes and arrows: python -m benchmarks.papers.diagrams; SVG under docs/figures/papers."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

FIGURES = Path(__file__).resolve().parents[2] / "docs" / "figures" / "papers"
_WIDTH, _HEIGHT = 1.75, 0.62
_COLOURS = {"given": "#e8eef7", "learnt": "#fbe9d0", "loss": "#f6d5d5", "answer": "#dcefdc"}
"""What a box is: data, something trained, an objective, or what comes out."""


@dataclass(frozen=True)
class Diagram:
    """boxes: by a short name (column, row, text, kind). arrows: (from, to, text)."""

    boxes: dict[str, tuple[float, float, str, str]]
    arrows: list[tuple[str, str, str]] = field(default_factory=list)


DIAGRAMS = {
    "mnn": Diagram(
        {
            "x": (0, 1, "features of\na document", "given"),
            "fx": (1.3, 1, "mean of W'\n(some dropped)", "learnt"),
            "y": (0, 0, "its label set", "given"),
            "fy": (1.3, 0, "mean of W", "learnt"),
            "loss": (2.6, 0.5, "cosine: own set near,\nhardest of h others far", "loss"),
            "vote": (4.0, 0.5, "nearest points'\nlabels vote", "answer"),
        },
        [("x", "fx", ""), ("y", "fy", ""), ("fx", "loss", ""), ("fy", "loss", ""), ("loss", "vote", "")],
    ),
    "dxml": Diagram(
        {
            "graph": (0, 0, "graph of labels\nthat meet", "given"),
            "walk": (1.3, 0, "DeepWalk:\nvectors V", "learnt"),
            "fy": (2.6, 0, "mean of V\nover the labels", "given"),
            "x": (0, 1, "features of\na document", "given"),
            "fx": (1.3, 1, "W1, ReLU, W2,\nunit length", "learnt"),
            "loss": (2.6, 1, "smooth L1", "loss"),
            "vote": (4.0, 1, "nearest cluster,\nk neighbours vote", "answer"),
        },
        [("graph", "walk", ""), ("walk", "fy", ""), ("fy", "loss", ""), ("x", "fx", ""), ("fx", "loss", ""),
         ("loss", "vote", "")],
    ),
    "glas": Diagram(
        {
            "x": (0, 1, "features of\na document", "given"),
            "phi": (1.3, 1, "phi(x) on the\nunit sphere", "learnt"),
            "v": (0, 0, "label vectors on\nthe unit sphere", "learnt"),
            "gram": (1.3, 0, "their inner\nproducts V'V", "learnt"),
            "loss": (2.6, 1, "relevant label leads\nthe others by c", "loss"),
            "reg": (2.6, 0, "near to U: how often\nthe labels meet", "loss"),
            "search": (4.0, 0.5, "labels with largest\ninner product", "answer"),
        },
        [("x", "phi", ""), ("phi", "loss", ""), ("v", "loss", ""), ("v", "gram", ""), ("gram", "reg", ""),
         ("loss", "search", ""), ("reg", "search", "")],
    ),
    "rankae": Diagram(
        {
            "x": (0, 1, "words of\na document", "given"),
            "att": (1.3, 1, "dual attention,\none layer: x_h", "learnt"),
            "y": (0, 0, "its label set", "given"),
            "enc": (1.3, 0, "encoder E: y_h", "learnt"),
            "lh": (2.6, 1, "x_h near y_h", "loss"),
            "dec": (2.6, 0, "decoder D: scores;\nranking loss", "loss"),
            "rank": (4.0, 0.5, "D(x_h) ranks\nthe labels", "answer"),
        },
        [("x", "att", ""), ("y", "enc", ""), ("att", "lh", ""), ("enc", "lh", ""), ("enc", "dec", ""),
         ("lh", "rank", ""), ("dec", "rank", "")],
    ),
    "lightdxml": Diagram(
        {
            "x": (0, 1, "words of\na document", "given"),
            "code": (1.3, 1, "weighted sum,\nencoder Z: x", "learnt"),
            "mu": (0, 0, "mean of a\nlabel's points", "given"),
            "z": (1.3, 0, "label encoder: z\nnear its points", "learnt"),
            "list": (2.6, 0, "shortlist: labels\nwith z near x", "given"),
            "loss": (2.6, 1, "classifiers: own labels\nagainst the shortlist", "loss"),
            "rank": (4.0, 0.5, "shortlist, ranked by\nclassifier and cosine", "answer"),
        },
        [("x", "code", ""), ("mu", "z", ""), ("z", "list", ""), ("code", "loss", ""), ("list", "loss", ""),
         ("loss", "rank", ""), ("list", "rank", "")],
    ),
    "astec": Diagram(
        {
            "x": (0, 1, "words of\na document", "given"),
            "v": (1.3, 1, "v predicts clusters\nof labels; frozen", "learnt"),
            "near": (1.3, 0, "nearest centroids\nand documents", "given"),
            "loss": (2.6, 1, "x = v + ReLU(Rv):\nclassifiers", "loss"),
            "re": (2.6, 0, "re-ranker learns\nfrom their mistakes", "loss"),
            "rank": (4.0, 0.5, "shortlist, ranked\nby both", "answer"),
        },
        [("x", "v", ""), ("v", "near", ""), ("v", "loss", ""), ("near", "loss", ""), ("loss", "re", ""),
         ("loss", "rank", ""), ("re", "rank", "")],
    ),
    "sleec": Diagram(
        {
            "x": (0, 1, "features of\na document", "given"),
            "cluster": (1.3, 1, "k-means:\nits cluster", "learnt"),
            "y": (0, 0, "label sets of\nthe cluster", "given"),
            "z": (1.3, 0, "codes z: near sets\nkeep their products", "learnt"),
            "v": (2.6, 0.5, "ridge regression\nfrom x to z", "loss"),
            "vote": (4.0, 0.5, "k neighbours vote;\nlearners averaged", "answer"),
        },
        [("x", "cluster", ""), ("y", "z", ""), ("cluster", "v", ""), ("z", "v", ""), ("v", "vote", "")],
    ),
}  # fmt: skip


def draw(name: str, diagram: Diagram, folder: Path = FIGURES) -> Path:
    mpl.rcParams.update({"svg.hashsalt": "zipfel"})
    figure = Figure(figsize=(9.2, 2.6), layout="constrained")
    axes = figure.add_subplot()
    places = {key: (1.55 * column, 1.15 * row) for key, (column, row, _, _) in diagram.boxes.items()}
    for key, (_, _, text, kind) in diagram.boxes.items():
        x, y = places[key]
        corner = (x - _WIDTH / 2, y - _HEIGHT / 2)
        axes.add_patch(FancyBboxPatch(corner, _WIDTH, _HEIGHT, "round,pad=0.04", fc=_COLOURS[kind], ec="#555"))
        axes.text(x, y, text, ha="center", va="center", fontsize=8.5)
    for start, end, text in diagram.arrows:
        (x0, y0), (x1, y1) = places[start], places[end]
        if x0 == x1:
            ends = (x0, y0 + (0.36 if y1 > y0 else -0.36)), (x1, y1 - (0.36 if y1 > y0 else -0.36))
        else:
            ends = (x0 + _WIDTH / 2 + 0.05, y0), (x1 - _WIDTH / 2 - 0.05, y1)
        axes.annotate(text, ends[1], ends[0], arrowprops={"arrowstyle": "->", "color": "#444"})
    axes.set(xlim=(-1, 7.2), ylim=(-0.5, 1.65))
    axes.axis("off")
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{name}-idea.svg", metadata={"Date": None})
    return folder / f"{name}-idea.svg"


if __name__ == "__main__":
    for name, diagram in DIAGRAMS.items():
        print(draw(name, diagram).name)
