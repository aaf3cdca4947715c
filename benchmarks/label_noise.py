"""Rank-AE against its BCE twin on noisy labels (the paper's Figure 3): python -m benchmarks.label_noise [--data ...]

80 % of train gets noise, 20 % stays clean for the choices, test is clean. `missing` drops each label of a document with
the noise rate; `both` puts a wrong label, drawn uniformly, in its place. Only the decoder ranks.
"""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from zipfel.data import label_matrix, read
from zipfel.features import Weighting
from zipfel.methods import Points, make_method
from zipfel.metrics import evaluate
from zipfel.run import Run

RATES = (0.0, 0.2, 0.4, 0.6)
TWINS = {"Rank-AE (ranking loss)": {"loss": "ranking"}, "BCE-AE": {"loss": "bce"}}
COMMON = {"readout": "decoder", "refit": "false", "n_neighbors": 20, "sharpness": 10}


def noisy(Y: sp.csr_matrix, rate: float, kind: str, rng: np.random.Generator) -> sp.csr_matrix:
    """Y with each label dropped with the rate, and for `both` a wrong one, drawn uniformly, in its place."""
    rows = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))
    dropped = rng.random(Y.nnz) < rate
    labels = Y.indices.astype(np.int64)
    if kind == "both":
        labels = np.where(dropped, rng.integers(Y.shape[1], size=Y.nnz), labels)
        return label_matrix(rows, labels, Y.shape)
    return label_matrix(rows[~dropped], labels[~dropped], Y.shape)


def main() -> None:
    asked = _arguments()
    train, test = _points(asked)
    found: dict[tuple[str, str], list[float]] = {}
    for kind in ("missing", "both"):
        for rate in RATES:
            for twin, loss in TWINS.items():
                values = [
                    _p_at_1(train, test, kind, rate, {**COMMON, **loss, **_settings(asked)}, s)
                    for s in range(1, asked.seeds + 1)
                ]
                found.setdefault((kind, twin), []).append(float(np.mean(values)))
                print(
                    f"{kind:8} {rate:.0%} {twin}: P@1 {100 * np.mean(values):.2f} ±{100 * np.std(values):.2f}",
                    flush=True,
                )
    _draw(found, asked.out)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("..") / "shared" / "data" / "debian-tags")
    parser.add_argument("--rows", type=int, default=0, help="take that many rows of train; 0: all")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--set", nargs="*", default=[], help="parameters of both twins, key=value")
    parser.add_argument("--out", type=Path, default=Path("docs/methods/label-noise.svg"))
    return parser.parse_args()


def _settings(asked: argparse.Namespace) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in asked.set)


def _points(asked: argparse.Namespace) -> tuple[Points, Points]:
    found = [next(path for path in sorted(asked.data.glob(f"{part}.txt*"))) for part in ("train", "test")]
    train, test = (read(path) for path in found)
    assert train.X is not None
    assert test.X is not None
    weighting = Weighting("tfidf").fit(train.X)
    points = Points(weighting.transform(train.X), train.Y)
    if asked.rows:
        points = points.take(np.sort(np.random.default_rng(0).permutation(points.n_points)[: asked.rows]))
    return points, Points(weighting.transform(test.X), test.Y)


def _p_at_1(train: Points, test: Points, kind: str, rate: float, params: dict[str, object], seed: int) -> float:
    rng = np.random.default_rng(seed)
    rest, clean = train.split(0.2, rng)
    method = make_method("rankae", params)
    method.fit(Points(rest.X, noisy(rest.Y, rate, kind, rng)), clean, Run(seed=seed))
    return float(evaluate(method.predict(test.X, 1), test.Y, ks=(1,))["P@1"])


def _draw(found: dict[tuple[str, str], list[float]], out: Path) -> None:
    figure = importlib.import_module("matplotlib.figure").Figure(figsize=(9, 3.6), layout="constrained")
    for axes, kind in zip(figure.subplots(1, 2, sharey=True), ("missing", "both"), strict=True):
        for twin, style in zip(TWINS, ("o-", "s--"), strict=True):
            axes.plot([100 * rate for rate in RATES], [100 * value for value in found[kind, twin]], style, label=twin)
        axes.set_title("missing labels" if kind == "missing" else "missing and invalid labels")
        axes.set_xlabel("noise (%)")
        axes.set_ylabel("P@1 on clean test (%)")
    axes.legend()
    figure.savefig(out)


if __name__ == "__main__":
    main()
