"""Rank-AE's tables and figures: python -m benchmarks.papers.rankae [TABLE...]; `common` has the options."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from matplotlib.figure import Figure

from benchmarks.papers.common import DATA, Published, Special, Table, Variant, main
from benchmarks.papers.special import Row, fitted, points
from zipfel import Zipfel
from zipfel.data import label_matrix, read
from zipfel.methods import Points
from zipfel.methods.rankae import RankAe
from zipfel.metrics import evaluate

QUALITY = ("P@1", "P@3", "P@5", "nDCG@3", "nDCG@5")
TABLE_2 = Table(
    name="accuracy",
    title="Table 2: P@k and nDCG@k",
    variants=[
        Variant("Rank-AE", "rankae:paper"),
        Variant("Rank-AE, best", "rankae:best"),
        Variant("SLEEC", "sleec:paper"),
        Variant("one-vs-all", "ova"),
    ],
    data=DATA,
    published=[
        Published(data, name, dict(zip(QUALITY, numbers, strict=False)))
        for data, name, *numbers in (
            ("delicious", "Rank-AE", 69.26, 62.72, 57.63, 64.16, 60.39),
            ("delicious", "SLEEC", 67.59, 61.38, 56.56, 62.87, 59.28),
            ("delicious", "FastXML", 69.61, 64.12, 59.27, 65.47, 61.90),
            ("delicious", "PD-Sparse", 51.82, 44.18, 38.95, 46.00, 42.02),
            ("Mediamill", "Rank-AE", 86.53, 70.17, 55.44, 78.36, 75.28),
            ("RCV", "Rank-AE", 90.90, 72.82, 52.05, 89.29, 89.75),
            ("IMDb", "Rank-AE", 75.91, 52.66, 38.48, 73.50, 77.37),
            ("EURLex", "Rank-AE", 79.52, 65.14, 53.18, 68.76, 62.33),
            ("Wiki10", "Rank-AE", 83.60, 72.07, 62.07, 74.78, 67.20),
        )
    ],
)
FIGURE_4 = Table(
    name="figure4",
    title="Figure 4: without attention, without the ranking loss",
    variants=[
        Variant("No attn", "rankae:paper[attention=spatial]"),
        Variant("No loss", "rankae:paper[loss=bce]"),
        Variant("Rank-AE", "rankae:paper"),
    ],
    data=("delicious", "debian-tags", "bibtex"),
    columns=("P@1", "P@3", "P@5"),
)
M = "margin=0.2"
BALANCE = Table(
    name="lambda",
    title="lambda, with m 0.2",
    variants=[
        Variant(f"lambda {weight}", f"rankae:paper[{M};balance={weight}]", x=weight)
        for weight in (0.1, 0.3, 1, 3, 10, 30)
    ],
    data=("delicious",),
    columns=("P@1", "P@5"),
    x="lambda",
)
OPEN = Table(
    name="open",
    title="What the paper leaves open, and what we changed",
    variants=[
        Variant("the preset paper", "rankae:paper"),
        Variant("no normalisation in E and D", "rankae:paper[norm=none]"),
        Variant("words averaged (2.4)", "rankae:paper[pooling=mean]"),
        *(Variant(f"m {m}", f"rankae:paper[balance=10;margin={m}]") for m in (0.05, 0.1, 0.4, 0.8)),
        Variant("documents' codes are decoded in training", "rankae:paper[decode_features=1]"),
        Variant("word vectors start at spread 1", "rankae:paper[start=1]"),
        Variant("training points vote as well", "rankae:paper[readout=both]"),
    ],
    data=("delicious",),
)


def autoencoder(asked: argparse.Namespace, data: str) -> Iterator[Row]:
    """How well D decodes E's codes of held-out label sets, beside what it makes of documents' codes."""
    train, test = points(asked, data)
    words = {"ranking loss": "", "without normalisation": "norm=none", "BCE": "loss=bce"}
    for name, change in words.items():
        for seed in range(1, asked.seeds + 1):
            method = fitted(asked, f"rankae:paper[{change}]", train, seed)
            assert isinstance(method, RankAe)
            own = {
                f"label sets P@{k}": round(100 * p, 2)
                for k, p in zip((1, 5), method.chosen_["autoencoder"][::2], strict=True)
            }
            found = evaluate(method.predict(test.X, 5), test.Y, ks=(1, 5))
            quality = {f"documents P@{k}": round(100 * found[f"P@{k}"], 2) for k in (1, 5)}
            chosen = {name: method.chosen_[name] for name in ("lambda", "m", "epochs")}
            yield {"objective": name, "seed": seed, **own, **quality, **chosen}


RATES = (0.0, 0.2, 0.4, 0.6)
PEERS = {"Rank-AE": "rankae:paper", "BCE-AE": "rankae:paper[loss=bce]", "one-vs-all": "ova", "SLEEC": "sleec:paper"}


def noise(asked: argparse.Namespace, data: str) -> Iterator[Row]:
    """Figure 3: 80 % of train is noisy, a clean fifth chooses epochs, m and lambda; test is clean.

    In the end every method is trained on all points (3.1), one-vs-all, which chooses nothing, at once.
    debian-tags stands for its 31 facets, as IMDb for its 28 genres: there negatives flip with the rate, too.
    On other data that would be hundreds of wrong labels a document; a wrong label takes the place of a lost one.
    """
    train, test = points(asked, data)
    if data == "debian-tags":
        facets = _facets(asked.shared / data / "labels.txt")
        train, test = (Points(p.X, _binary(p.Y[:, : facets.shape[0]] @ facets)) for p in (train, test))
    for kind in ("missing", "missing and invalid"):
        for rate in RATES if kind == "missing" else RATES[1:]:
            for seed in range(1, asked.seeds + 1):
                rng = np.random.default_rng(seed)
                rest, clean = train.split(0.2, rng)
                flips = flipped if data == "debian-tags" else replaced
                Y = dropped(rest.Y, rate, rng) if kind == "missing" else flips(rest.Y, rate, rng)
                for name, word in PEERS.items():
                    noisy = Points(rest.X, Y)
                    given = (noisy.joined(clean), None) if word == "ova" else (noisy, clean)
                    method = fitted(asked, word, given[0], seed, given[1])
                    found = evaluate(method.predict(test.X, 5), test.Y, ks=(1, 5))
                    quality = {metric: round(100 * found[metric], 2) for metric in ("P@1", "P@5")}
                    kinds = ("missing", "missing and invalid") if rate == 0 else (kind,)
                    for shown in kinds:
                        yield {"noise": shown, "noise rate": rate, "system": name, "seed": seed, **quality,
                               "curve": f"{name}, {shown}"}  # fmt: skip


def dropped(Y: sp.csr_matrix, rate: float, rng: np.random.Generator) -> sp.csr_matrix:
    """Y without each of its labels, with the rate."""
    points, kept = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr)), rng.random(Y.nnz) >= rate
    return label_matrix(points[kept], Y.indices[kept].astype(np.int64), Y.shape)


def replaced(Y: sp.csr_matrix, rate: float, rng: np.random.Generator) -> sp.csr_matrix:
    """Y with a label drawn uniformly in place of each of its labels, with the rate."""
    points, wrong = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr)), rng.random(Y.nnz) < rate
    labels = np.where(wrong, rng.integers(Y.shape[1], size=Y.nnz), Y.indices)
    return label_matrix(points, labels.astype(np.int64), Y.shape)


def flipped(Y: sp.csr_matrix, rate: float, rng: np.random.Generator) -> sp.csr_matrix:
    """Y with every entry turned over, a one to a zero or a zero to a one, with the rate."""
    points, labels = np.nonzero((Y.toarray() > 0) ^ (rng.random(Y.shape) < rate))
    return label_matrix(points, labels.astype(np.int64), Y.shape)


def _facets(file: Path) -> sp.csr_matrix:
    """(n_labels, n_facets): "role::program" belongs to the facet "role"."""
    names = [line.partition("::")[0] for line in file.read_text(encoding="utf-8").split("\n") if line]
    order = {name: place for place, name in enumerate(dict.fromkeys(names))}
    columns = np.array([order[name] for name in names])
    return label_matrix(np.arange(len(names)), columns, (len(names), len(order)))


def _binary(Y: sp.csr_matrix) -> sp.csr_matrix:
    Y = sp.csr_matrix(Y, dtype=np.float32)
    Y.data[:] = 1
    return Y


DOCUMENTS = 3


def attention(asked: argparse.Namespace, data: str) -> Iterator[Row]:
    """Figure 5: what the channels' attention lets through of each word, for three starts of the word vectors."""
    train, test = (read(asked.shared / data / f"{part}.jsonl.gz") for part in ("train", "test"))
    if asked.points:
        train = train.take(np.sort(np.random.default_rng(0).permutation(train.n_points)[: asked.points]))
    for start in (0.1, 0.3, 1.0):
        model = Zipfel("rankae", preset="paper", start=start, seed=1, threads=asked.threads).fit(train)
        quality = 100 * model.evaluate(test)["P@1"]
        texts = [text for text in list(test.texts or [])[:200] if len(text.split()) > 15]
        found = [model.explain(text) for text in texts[:50]]
        gates = np.concatenate([np.asarray(one.attention) for one in found])
        spread = np.mean([np.std(one.attention) for one in found])
        low, high = np.percentile(gates, (5, 95))
        facts = {"5 %": low, "95 %": high, "deviation within a document": spread}
        yield {"start": start, "P@1": round(quality, 2), **{name: round(float(v), 4) for name, v in facts.items()}}
        if start == 1.0:
            _highlight(found[:DOCUMENTS], asked.figures / "rankae-figure5.svg")


def _highlight(found: list, file: Path) -> None:  # type: ignore[type-arg]
    """The documents' words, the more attention passes of a word the darker its ground."""
    figure = Figure(figsize=(8, 2.2 * len(found)))
    for axes, one in zip(figure.subplots(len(found), 1), found, strict=True):
        low, high = min(one.attention), max(one.attention)
        shade = {
            word: (gate - low) / max(high - low, 1e-9) for word, gate in zip(one.words, one.attention, strict=True)
        }
        x, y = 0.0, 0.82
        for text, places in one.pieces:
            weight = max((shade[one.words[place]] for place in places), default=None)
            ground = (
                None if weight is None else {"facecolor": (1, 0.65, 0, float(weight)), "edgecolor": "none", "pad": 1}
            )
            if x + 0.0108 * len(text) > 1:
                x, y = 0.0, y - 0.14
            if y < 0:
                break
            axes.text(x, y, text, fontsize=8, family="monospace", bbox=ground)
            x += 0.0108 * len(text)
        axes.set_title(f"labels: {', '.join(list(one.scores)[:3])}", fontsize=8, loc="left")
        axes.axis("off")
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, metadata={"Date": None})


SPECIAL = [
    Special("autoencoder", "What the auto-encoder decodes", ("objective", "seed", "label sets P@1", "label sets P@5",
            "documents P@1", "documents P@5", "lambda", "m", "epochs"), autoencoder, ("delicious",)),
    Special("noise", "Figure 3: noisy labels", ("noise", "noise rate", "system", "seed", "P@1", "P@5"), noise,
            ("debian-tags", "delicious"), "noise rate", "curve", "P@1"),
    Special("attention", "Figure 5: attention by the spread of the first word vectors", ("start", "P@1", "5 %", "95 %",
            "deviation within a document"), attention, ("debian-tags",)),
]  # fmt: skip

if __name__ == "__main__":
    main("rankae", [TABLE_2, FIGURE_4, BALANCE, OPEN], __doc__, SPECIAL)
