"""Rank-AE against its BCE twin on noisy labels (the paper's Figure 3): python -m benchmarks.label_noise [--points 3000]

80 % of the sample gets noise, 20 % stays clean for the choices, test is clean. `missing` drops each label of a
document with the noise rate; `both` puts a wrong label, drawn uniformly, in its place. Only the decoder ranks.
The networks are small and without channel attention, which has no part in the question.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.small import Cells, Record, cell, drawn, measured, parser_of, rows, settings, sizes
from zipfel.data import label_matrix
from zipfel.methods import Points
from zipfel.run import Run

RATES = (0.0, 0.2, 0.4, 0.6)
KINDS = {"missing": "missing labels", "both": "missing and invalid labels"}
SMALL = "networks=1;refit=false;readout=decoder;attention=spatial;word_dim=64;dim=100;hidden=128;epochs=20"
TWINS = {
    "Rank-AE": f"rankae[loss=ranking;{SMALL}]",
    "Rank-AE, mean over pairs": f"rankae[loss=ranking;hardest=false;{SMALL}]",
    "BCE-AE": f"rankae[loss=bce;{SMALL}]",
}
Found = Mapping[tuple[str, str], Sequence[Sequence[float]]]
"""By kind and twin: for each rate P@1 of every seed."""


def noisy(Y: sp.csr_matrix, rate: float, kind: str, rng: np.random.Generator) -> sp.csr_matrix:
    """Y with each label dropped with the rate, and for `both` a wrong one, drawn uniformly, in its place."""
    points = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))
    dropped = rng.random(Y.nnz) < rate
    labels = Y.indices.astype(np.int64)
    if kind == "both":
        labels = np.where(dropped, rng.integers(Y.shape[1], size=Y.nnz), labels)
        return label_matrix(points, labels, Y.shape)
    return label_matrix(points[~dropped], labels[~dropped], Y.shape)


def main() -> None:
    parser = parser_of(__doc__ or "", points=3000, seeds=3)
    parser.add_argument("--data", default="debian-tags")
    parser.add_argument("--plot", type=Path, default=Path("docs/methods/label-noise.svg"))
    asked = parser.parse_args()
    found = compare(asked)
    print(f"\n| noise | loss | {' | '.join(f'{rate:.0%}' for rate in RATES)} |\n|---|---|{'---|' * len(RATES)}")
    for (kind, twin), values in found.items():
        print(f"| {KINDS[kind]} | {twin} | {' | '.join(cell(seeds, 1) for seeds in values)} |")
    draw(found, asked.plot)


def compare(asked: argparse.Namespace) -> dict[tuple[str, str], list[list[float]]]:
    data, train, test = rows(asked, asked.data)
    cells, found = Cells(asked.out / "label_noise.jsonl"), dict[tuple[str, str], list[list[float]]]()
    for kind in KINDS:
        for twin, method in TWINS.items():
            for rate in RATES:
                what = (data, kind if rate else "none", rate, method)
                seeds = [_cell(asked, cells, what, train, test, seed) for seed in range(1, asked.seeds + 1)]
                found.setdefault((kind, twin), []).append([record["P@1"] for record in seeds])
                print(f"{kind} {rate:.0%} {twin}: P@1 {cell(found[kind, twin][-1])}", flush=True)
    return found


def _cell(
    asked: argparse.Namespace, cells: Cells, what: tuple[str, str, float, str], train: Points, test: Points, seed: int
) -> Record:
    data, kind, rate, method = what
    key = {"data": data, "kind": kind, "rate": rate, "method": method, "seed": seed, **sizes(asked)}

    def measure() -> Mapping[str, float]:
        rng = np.random.default_rng(seed)
        rest, clean = drawn(train, asked.points, seed).split(0.2, rng)
        noise = Points(rest.X, noisy(rest.Y, rate, kind, rng))
        return measured(method, settings(asked), noise, test, Run(seed=seed, threads=asked.threads), clean)

    return cells.get(key, measure)


def draw(found: Found, out: Path) -> None:
    figure = importlib.import_module("matplotlib.figure").Figure(figsize=(9, 3.6), layout="constrained")
    for axes, kind in zip(figure.subplots(1, 2, sharey=True), KINDS, strict=True):
        for twin, style in zip(TWINS, ("o-", "^:", "s--"), strict=True):
            means, spreads = zip(*((np.mean(v), np.std(v)) for v in found[kind, twin]), strict=True)
            axes.errorbar([100 * rate for rate in RATES], means, spreads, fmt=style, capsize=3, label=twin)
        axes.set_title(KINDS[kind])
        axes.set_xlabel("noise (%)")
        axes.set_ylabel("P@1 on clean test (%)")
    axes.legend()
    figure.savefig(out, metadata={"Date": None})


if __name__ == "__main__":
    main()
